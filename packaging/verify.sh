#!/bin/sh
# Checks a release without a network, before it is installed:
#
#     packaging/verify.sh FOLDER [PUBLIC_KEY]
#
# FOLDER has what `make release`, `make image` and `make sign` left there. PUBLIC_KEY
# is the maintainer's key file of minisign, and must not come from FOLDER. With it the
# signature of SHA256SUMS is checked, and without it only that the files are those of
# SHA256SUMS, and no others. The first problem is one line, with exit status 1.
set -eu
export LC_ALL=C

fail() {
	echo "verify.sh: $*" >&2
	exit 1
}

folder=${1:?usage: packaging/verify.sh FOLDER [PUBLIC_KEY]}
key=${2-}
[ -d "$folder" ] || fail "$folder is no folder"
[ -z "$key" ] || [ -r "$key" ] || fail "$key cannot be read"
[ -s "$folder/SHA256SUMS" ] || fail "$folder has no SHA256SUMS"

if [ "$key" ]; then
	command -v minisign >/dev/null || fail 'no minisign, which checks signatures'
	[ -s "$folder/SHA256SUMS.minisig" ] || fail "$folder has no SHA256SUMS.minisig"
	minisign -V -q -p "$key" -m "$folder/SHA256SUMS" >/dev/null 2>&1 ||
		fail "SHA256SUMS was not signed with $key"
fi

# Names without folders, and nothing but a name behind a sum.
bad=$(grep -Evn '^[0-9a-f]{64}  rlockrun[0-9A-Za-z._+-]*$' "$folder/SHA256SUMS" | head -n 1) || :
[ -z "$bad" ] ||
	fail "SHA256SUMS has a line that is none: $(printf %s "$bad" | tr -c ' -~' '?')"
# read(1) would drop the rest of a line.
[ -z "$(tail -c 1 "$folder/SHA256SUMS")" ] ||
	fail 'SHA256SUMS is incomplete: its last line has no end'

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

# What belongs to the archives says so.
notes=rlockrun-$versions-notes.md bill=rlockrun-$versions.spdx.json
image=rlockrun-$versions-oci.tar
for name in "$notes" "$bill"; do
	[ -f "$folder/$name" ] || fail "$name is missing"
done
head -n 1 "$folder/$notes" | grep -q "^# rlockrun $versions, " ||
	fail "$notes is not of rlockrun $versions"
grep -q '^  "spdxVersion": "SPDX-2.3",$' "$folder/$bill" || fail "$bill is no SPDX 2.3"
commit=''
for file in "$folder/rlockrun-$versions.tar.gz" "$folder/rlockrun-$versions"-linux-*.tar.gz; do
	[ -f "$file" ] || fail "${file##*/} is missing"
	sum=$(sha256sum <"$file")
	grep -q "\"packageFileName\": \"${file##*/}\".*\"${sum%% *}\"" "$folder/$bill" ||
		fail "$bill is not of ${file##*/}"
	case $file in *-linux-*) ;; *) continue ;; esac
	name=${file##*/}
	stated=$(tar -xzOf "$file" "${name%.tar.gz}/share/doc/rlockrun/licences/README" 2>/dev/null |
		sed -n "s/^rlockrun $versions, commit \([0-9a-f]*\),.*/\1/p")
	[ "$stated" ] || fail "$name does not state its commit"
	[ "${commit:=$stated}" = "$stated" ] || fail "$name was built from another commit"
done
if [ -f "$folder/$image" ]; then
	blobs=$(tar -tf "$folder/$image" | sed -n 's|^\./blobs/sha256/||p' | grep .) ||
		fail "$image has no images"
	for blob in $blobs; do
		sum=$(tar -xOf "$folder/$image" "./blobs/sha256/$blob" | sha256sum)
		[ "$sum" = "$blob  -" ] || fail "$image has a blob that is not $blob"
	done
fi

count=$(wc -l <"$folder/SHA256SUMS")
if [ "$key" ]; then
	echo "rlockrun $versions: $count files, signed with $key"
else
	echo "rlockrun $versions: $count files; the signature was not checked"
fi
