#!/bin/sh
# Checks a release without a network, before it is installed:
#
#     packaging/verify.sh FOLDER [PUBLIC_KEY [VERSION]]
#
# FOLDER has what `make release-all` left there, or `make release` for any choice of
# architectures. PUBLIC_KEY is the maintainer's key file of minisign, and must not come
# from FOLDER. With it the signature of SHA256SUMS is checked. With or without it the
# files must be those of SHA256SUMS and no others, a complete release of one version and
# one commit, whose packages and image have the same program as the archives, each for
# its machine.
#
# VERSION is the release that is expected, without it the one in the name of FOLDER, if
# there is one: an older release was signed, too. It may end in the revision of the
# packages: 0.1.0-2.
#
# The first problem is one line, with exit status 1.
set -eu
export LC_ALL=C
. "$(dirname "$0")/verify/programs.sh"
. "$(dirname "$0")/verify/image.sh"

fail() {
	echo "verify.sh: $*" >&2
	exit 1
}

# printable TEXT: no bytes of a file reach the terminal that could control it.
printable() { printf %s "$1" | tr -c ' -~' '?'; }

folder=${1:?usage: packaging/verify.sh FOLDER [PUBLIC_KEY]}
key=${2-}
expected=${3-}
[ -d "$folder" ] || fail "$folder is no folder"
[ -z "$key" ] || [ -r "$key" ] || fail "$key cannot be read"
[ -s "$folder/SHA256SUMS" ] || fail "$folder has no SHA256SUMS"

if [ "$key" ]; then
	command -v minisign >/dev/null || fail 'no minisign, which checks signatures'
	[ -s "$folder/SHA256SUMS.minisig" ] || fail "$folder has no SHA256SUMS.minisig"
	# With -Q it prints the comment that was signed, too.
	comment=$(minisign -V -Q -p "$key" -m "$folder/SHA256SUMS" 2>/dev/null) ||
		fail "SHA256SUMS was not signed with $key"
fi

# Names without folders, and nothing but a name behind a sum.
bad=$(grep -Evn '^[0-9a-f]{64}  rlockrun[0-9A-Za-z._+-]*$' "$folder/SHA256SUMS" | head -n 1) || :
[ -z "$bad" ] ||
	fail "SHA256SUMS has a line that is none: $(printable "$bad")"
# read(1) would drop the rest of a line.
[ -z "$(tail -c 1 "$folder/SHA256SUMS")" ] ||
	fail 'SHA256SUMS is incomplete: its last line has no end'
twice=$(sed 's/^.*  //' "$folder/SHA256SUMS" | sort | uniq -d | head -n 1)
[ -z "$twice" ] || fail "SHA256SUMS has two lines for $twice"

# No other file is there, and each is a file of its own: a name is compared as it is,
# never as a pattern.
line='
'
released="$line$(sed 's/^.*  //' "$folder/SHA256SUMS")$line"
for file in "$folder"/* "$folder"/.[!.]* "$folder"/..?*; do
	[ -e "$file" ] || [ -L "$file" ] || continue # a pattern that matches nothing
	name=${file##*/}
	case $name in *[!0-9A-Za-z._+-]*)
		fail "$folder has a name with other characters: $(printf %s "$name" | tr -c 0-9A-Za-z._+- '?')"
		;;
	esac
	if [ -L "$file" ] || [ ! -f "$file" ]; then fail "$name is not a regular file"; fi
	case $name in SHA256SUMS | SHA256SUMS.minisig) continue ;; esac
	case $released in *"$line$name$line"*) ;; *) fail "$name is not in SHA256SUMS" ;; esac
done
while read -r sum name; do
	[ -f "$folder/$name" ] || fail "$name is missing"
	[ "$(sha256sum <"$folder/$name")" = "$sum  -" ] || fail "$name is not what was released"
done <"$folder/SHA256SUMS"

# All of one version, which is that of the archives' names.
versions=$(sed 's/^.*  rlockrun[-_]\([0-9.]*[0-9]\).*$/\1/' "$folder/SHA256SUMS" | sort -u)
[ "$(echo "$versions" | wc -l)" -eq 1 ] ||
	fail "the files have different versions: $(echo "$versions" | paste -sd' ' -)"
version=$versions
if [ -z "$expected" ]; then
	expected=$(basename "$(realpath "$folder")" | sed -nE 's/^rlockrun-([0-9]+(\.[0-9]+)+(-[0-9]+)?)$/\1/p')
fi
revision=$(sed -nE 's/^.*[-_]0\.?static([1-9][0-9]*)[._].*$/\1/p' "$folder/SHA256SUMS" | sort -u)
: "${revision:=1}"
[ "$(echo "$revision" | wc -l)" -eq 1 ] ||
	fail "the packages have different revisions: $(echo "$revision" | paste -sd' ' -)"
case $expected in
'' | "$version" | "$version-$revision") ;;
*) fail "this is rlockrun $version-$revision, not $(printable "$expected")" ;;
esac
if [ "$key" ] && [ "$comment" != "rlockrun $version" ]; then
	fail "SHA256SUMS was signed as \"$(printable "$comment")\", not as \"rlockrun $version\""
fi

# --- complete --------------------------------------------------------------------------

# is_released NAME: as it was compared above.
is_released() {
	case $released in *"$line$1$line"*) ;; *) return 1 ;; esac
}
# sum_of NAME
sum_of() {
	sed -n "s/^\([0-9a-f]*\)  $(echo "$1" | sed 's/\./\\./g')\$/\1/p" "$folder/SHA256SUMS"
}

# What Debian calls an architecture, and `uname -m`: those of packaging/static/target.sh.
table='
amd64 x86_64
arm64 aarch64
armhf armv7hl
i386 i686
s390x s390x
'
image=rlockrun-$version-oci.tar
architectures=''
while read -r arch machine; do
	[ "$arch" ] || continue
	files="rlockrun-$version-linux-$machine.tar.gz rlockrun_$version-0static${revision}_$arch.deb
		rlockrun-$version-0.static$revision.$machine.rpm"
	# The image is for these two.
	case $arch in amd64 | arm64) files="$files $image" ;; esac
	for name in $files; do
		is_released "$name" || continue
		architectures="$architectures$arch:$machine "
		break
	done
done <<-END
	$table
END
[ "$architectures" ] || fail "$folder has no files of any architecture"

source=rlockrun-$version.tar.gz
orig=rlockrun_$version.orig.tar.gz
notes=rlockrun-$version-notes.md
bill=rlockrun-$version.spdx.json
dsc=$(echo "$released" | grep "^rlockrun_$version-[0-9A-Za-z.+]*\.dsc\$") ||
	fail "rlockrun_$version-*.dsc is missing"
case $dsc in *"$line"*) fail 'the release has more than one .dsc' ;; esac
debian=${dsc%.dsc}.debian.tar.gz
complete=" $source $orig $dsc $debian $notes $bill"
for pair in $architectures; do
	complete="$complete rlockrun-$version-linux-${pair#*:}.tar.gz"
	complete="$complete rlockrun_$version-0static${revision}_${pair%:*}.deb"
	complete="$complete rlockrun-$version-0.static$revision.${pair#*:}.rpm"
done
for name in $complete; do
	is_released "$name" || fail "$name is missing"
done
for name in $released; do
	case "$complete $image " in *" $name "*) ;; *) fail "$name is no file of a release" ;; esac
done

# --- of one commit ---------------------------------------------------------------------

head -n 1 "$folder/$notes" | grep -q "^# rlockrun $version, " ||
	fail "$notes is not of rlockrun $version"
grep -q '^  "spdxVersion": "SPDX-2.3",$' "$folder/$bill" || fail "$bill is no SPDX 2.3"
# Where `git archive` writes it: in the second block.
commit=$(gzip -dc <"$folder/$source" 2>/dev/null | tail -c +513 | head -c 512 |
	tr -d '\000' | sed -n 's/^[0-9]* comment=\([0-9a-f]*\)$/\1/p')
[ "$commit" ] || fail "$source does not state its commit"
for pair in source: $architectures; do
	name=$source
	[ "$pair" = source: ] || name=rlockrun-$version-linux-${pair#*:}.tar.gz
	grep -q "\"packageFileName\": \"$name\".*\"$(sum_of "$name")\"" "$folder/$bill" ||
		fail "$bill is not of $name"
	[ "$pair" != source: ] || continue
	stated=$(tar -xzOf "$folder/$name" "${name%.tar.gz}/share/doc/rlockrun/licences/README" 2>/dev/null |
		sed -n "s/^rlockrun $version, commit \([0-9a-f]*\),.*/\1/p")
	[ "$stated" ] || fail "$name does not state its commit"
	[ "$stated" = "$commit" ] || fail "$name was not built from $source: its commit is another one"
done
[ "$(sum_of "$orig")" = "$(sum_of "$source")" ] || fail "$orig is not $source"
for name in "$orig" "$debian"; do
	grep -qxF " $(sum_of "$name") $(($(wc -c <"$folder/$name"))) $name" "$folder/$dsc" ||
		fail "$dsc is not of $name"
done

# --- the programs ----------------------------------------------------------------------

for pair in $architectures; do
	archive=rlockrun-$version-linux-${pair#*:}.tar.gz
	[ "$(archive_program "$archive" | head -c 1)" ] || fail "$archive has no program"
	[ "$(archive_program "$archive" | elf_machine)" = "${pair%:*}" ] ||
		fail "the program of $archive is not for that machine"
	name=rlockrun_$version-0static${revision}_${pair%:*}.deb
	deb_program "$folder/$name" | verify_program "$name" "$archive"
	name=rlockrun-$version-0.static$revision.${pair#*:}.rpm
	rpm_program "$folder/$name" | verify_program "$name" "$archive"
done

case $architectures in *amd64:*arm64:*) is_released "$image" || fail "$image is missing" ;; esac
if is_released "$image"; then verify_image; fi

count=$(wc -l <"$folder/SHA256SUMS")
if [ "$key" ]; then
	echo "rlockrun $version: $count files, signed with $key"
else
	echo "rlockrun $version: $count files; the signature was not checked"
fi
