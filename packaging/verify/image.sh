# The OCI layout of a release, for verify.sh: it is whole, and its programs are those
# of the archives.
# shellcheck shell=sh disable=SC2154 # verify.sh sets what is used

# has_blob DIGEST
has_blob() {
	case $blobs in *"$line${1#sha256:}$line"*) ;; *) fail "$image has no blob $1" ;; esac
}
blob() { tar -xOf "$folder/$image" "./blobs/sha256/${1#sha256:}" 2>/dev/null; }
# strings NAMES: of JSON, the values with one of these names (of a regular expression).
strings() {
	tr -d ' \t\n' | sed 's/[],{}[]/\n/g' | sed -nE "s/^\"($1)\":\"([0-9a-z:]*)\"\$/\2/p"
}

# verify_manifest DIGEST ARCH
verify_manifest() {
	has_blob "$1"
	config='' layers=''
	for digest in $(blob "$1" | strings digest); do
		has_blob "$digest"
		if [ "$config" ]; then layers="$layers $digest"; else config=$digest; fi
	done
	[ "$layers" ] || fail "$image has no layers for $2"
	stated=$(blob "$config" | strings architecture)
	[ "$stated" = "$2" ] || fail "$image has a configuration of $stated for $2"
	machine=$(echo "$table" | sed -n "s/^$2 //p")
	for digest in $layers; do
		blob "$digest" | tar -xzOf - bin/rlockrun 2>/dev/null || :
	done | verify_program "$image" "rlockrun-$version-linux-$machine.tar.gz"
}

verify_image() {
	blobs=$(tar -tf "$folder/$image" 2>/dev/null) || fail "$image is no complete tar file"
	blobs=$(echo "$blobs" | sed -nE 's|^\./blobs/sha256/([0-9a-f]{64})$|\1|p')
	[ "$blobs" ] || fail "$image has no blobs"
	blobs=$line$blobs$line
	for sum in $blobs; do
		[ "$(blob "$sum" | sha256sum)" = "$sum  -" ] || fail "$image has a blob that is not $sum"
	done
	index=$(tar -xOf "$folder/$image" ./index.json 2>/dev/null | strings digest)
	[ "$index" ] || fail "$image has no index"
	has_blob "$index"
	index=$(blob "$index")
	there=$(echo "$index" | strings architecture | paste -sd' ' -)
	[ "$there" = 'amd64 arm64' ] || fail "$image is for \"$there\", not for \"amd64 arm64\""
	manifest=''
	# The digest of a manifest comes before its architecture, and in the manifest that of
	# the configuration before those of the layers.
	for value in $(echo "$index" | strings 'digest|architecture'); do
		case $value in
		sha256:*) manifest=$value ;;
		*) verify_manifest "$manifest" "$value" ;;
		esac
	done
}
