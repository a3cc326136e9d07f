# The program of a package or an archive, for verify.sh, without the tools of either
# distribution, which are not everywhere. Each function prints it, or nothing.
# shellcheck shell=sh disable=SC2154 # verify.sh sets what is used

# from OFFSET FILE: what is behind that many bytes.
from() { tail -c +$(($1 + 1)) "$2"; }
# text OFFSET LENGTH FILE
text() { from "$1" "$3" | head -c "$2" | tr -cd ' -~'; }

# An archive of ar(1): members behind a header of 60 bytes, at even offsets.
deb_program() {
	at=8
	for member in debian-binary control.tar.gz data.tar.gz; do
		[ "$(text $at 16 "$1" | tr -d ' /')" = $member ] || return 0
		size=$(text $((at + 48)) 10 "$1" | tr -d ' ')
		case $size in '' | *[!0-9]* | 0?*) return 0 ;; esac
		at=$((at + 60))
		[ $member = data.tar.gz ] || at=$((at + size + size % 2))
	done
	from $at "$1" | head -c "$size" | tar -xzOf - ./usr/bin/rlockrun 2>/dev/null || :
}

# header_size OFFSET FILE: of a header of RPM, which has entries of 16 bytes and a store.
header_size() {
	# shellcheck disable=SC2046 # eight numbers
	set -- $(from $(($1 + 8)) "$2" | head -c 8 | od -An -tu1)
	[ $# -eq 8 ] || return 1
	echo $((16 + 16 * ($3 * 256 + $4) + ($6 * 65536 + $7 * 256 + $8)))
}

# A lead of 96 bytes, a header with signatures, padded to 8 bytes, one of the package,
# and files of cpio(1), whose headers of 110 bytes have the sizes as hexadecimal numbers.
rpm_program() {
	size=$(header_size 96 "$1") || return 0
	payload=$((96 + (size + 7) / 8 * 8))
	size=$(header_size $payload "$1") || return 0
	payload=$((payload + size))
	at=0
	while :; do
		entry=$(rpm_payload $at "$1" | head -c 146 | tr -cd ' -~')
		sizes=$(echo "$entry" | sed -nE 's/^070701.{48}([0-9a-fA-F]{8}).{32}([0-9a-fA-F]{8}).{8}.+/\1 0x\2/p')
		[ "$sizes" ] || return 0
		size=$((0x${sizes% *}))
		data=$((at + (110 + ${sizes#* } + 3) / 4 * 4))
		case $entry in ??????*./usr/bin/rlockrun*) break ;; esac
		at=$((data + (size + 3) / 4 * 4))
	done
	rpm_payload "$data" "$1" | head -c "$size"
}
# rpm_payload OFFSET FILE: of what is compressed, from that byte on.
rpm_payload() { from "$payload" "$2" | gzip -dc 2>/dev/null | tail -c +$(($1 + 1)); }

# verify_program FILE ARCHIVE: the program on standard input is that of the archive.
verify_program() {
	[ "$(sha256sum)" = "$(archive_program "$2" | sha256sum)" ] ||
		fail "$1 does not have the program of $2"
}
# elf_machine: the architecture of the program on standard input, by its class, its byte
# order and the number of its machine.
elf_machine() {
	# shellcheck disable=SC2046 # numbers
	set -- $(head -c 20 | od -An -v -tx1)
	[ "${1-} ${2-} ${3-} ${4-}" = '7f 45 4c 46' ] || return 0
	case "$5 $6 ${19-} ${20-}" in
	'02 01 3e 00') echo amd64 ;;
	'02 01 b7 00') echo arm64 ;;
	'01 01 28 00') echo armhf ;;
	'01 01 03 00') echo i386 ;;
	'02 02 00 16') echo s390x ;;
	esac
}
archive_program() {
	tar -xzOf "$folder/$1" "${1%.tar.gz}/bin/rlockrun" 2>/dev/null || :
}
