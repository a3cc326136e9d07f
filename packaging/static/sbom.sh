#!/bin/sh
# Writes the software bill of materials of a release, an SPDX 2.3 document:
#
#     packaging/static/sbom.sh VERSION FOLDER
#
#     FOLDER/rlockrun-VERSION.spdx.json
#
# It says which libraries each archive in FOLDER has in its program, from what the
# archive itself states in licences/README. The packages and images have the same
# programs. A Debian source has the checksum of its .dsc. That of musl has none: its
# compiled package is installed, and its sources are never downloaded.
#
# SOURCE_DATE_EPOCH is the time in it.
set -eu
export LC_ALL=C
usage='usage: packaging/static/sbom.sh VERSION FOLDER'
version=${1:?$usage}
cd "${2:?$usage}"
: "${SOURCE_DATE_EPOCH:?sbom.sh: it must be set}"

# describe: a line for the source and for each archive, each followed by the lines of
# its libraries: FILE SHA256, and NAME: WHERE FROM.
describe() {
	for file in "rlockrun-$version.tar.gz" "rlockrun-$version"-linux-*.tar.gz; do
		echo "$file $(sha256sum <"$file" | cut -d' ' -f1)"
		case $file in *-linux-*) ;; *) continue ;; esac
		tar -xzOf "$file" "${file%.tar.gz}/share/doc/rlockrun/licences/README" |
			grep -E '^(openssl|hiredis|musl): '
	done
}

out=rlockrun-$version.spdx.json
trap 'rm -f "$out.new"' EXIT
described=$(describe)
echo "$described" | awk -v version="$version" \
	-v created="$(date -ud "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)" \
	-v unique="$(echo "$described" | sha256sum | cut -c 1-32)" '
	BEGIN {
		supplier["rlockrun"] = "Organization: The rlockrun authors"
		supplier["openssl"] = supplier["hiredis"] = supplier["musl"] = "Organization: Debian"
		licences["musl"] = "MIT"
		licences["openssl"] = "Apache-2.0"
		licences["hiredis"] = "BSD-3-Clause"
		print "{"
		print "  \"spdxVersion\": \"SPDX-2.3\","
		print "  \"dataLicense\": \"CC0-1.0\","
		print "  \"SPDXID\": \"SPDXRef-DOCUMENT\","
		print "  \"name\": \"rlockrun-" version "\","
		print "  \"documentNamespace\": \"https://rlockrun.invalid/spdx/rlockrun-" version "-" unique "\","
		print "  \"creationInfo\": {"
		print "    \"created\": \"" created "\","
		print "    \"creators\": [\"Organization: The rlockrun authors\", \"Tool: packaging/static/sbom.sh\"]"
		print "  },"
		print "  \"packages\": ["
	}
	function sha256(sum) {
		return "\"checksums\": [{\"algorithm\": \"SHA256\", \"checksumValue\": \"" sum "\"}]"
	}
	function package(id, name, version, licence, more) {
		print separator "    {"
		print "      \"SPDXID\": \"SPDXRef-" id "\","
		print "      \"name\": \"" name "\","
		print "      \"versionInfo\": \"" version "\","
		if (more) print "      " more ","
		print "      \"downloadLocation\": \"NOASSERTION\","
		print "      \"supplier\": \"" supplier[name] "\","
		print "      \"filesAnalyzed\": false,"
		print "      \"licenseConcluded\": \"" licence "\","
		print "      \"licenseDeclared\": \"" licence "\","
		print "      \"copyrightText\": \"NOASSERTION\""
		printf "    }"
		separator = ",\n"
	}
	function relate(from, how, to) {
		related[++relations] = "    {\"spdxElementId\": \"SPDXRef-" from \
			"\", \"relationshipType\": \"" how "\", \"relatedSpdxElement\": \"SPDXRef-" to "\"}"
	}
	# The source comes first, and the archives are built from it.
	/^rlockrun-/ {
		own = $1
		sub(/\.tar\.gz$/, "", own)
		gsub(/_/, "-", own) # an id has letters, digits, . and -
		# As in packages.sh: an archive has the libraries in its program.
		package(own, "rlockrun", version, source ? "MIT AND Apache-2.0 AND BSD-3-Clause" : "MIT",
			"\"packageFileName\": \"" $1 "\", " sha256($2))
		relate("DOCUMENT", "DESCRIBES", own)
		if (source) relate(own, "GENERATED_FROM", source)
		else source = own
		next
	}
	# One package for equal libraries of several archives.
	!($0 in id) {
		name = substr($1, 1, length($1) - 1)
		id[$0] = name "-" ++libraries
		from = $0
		sub(/^[^:]*: /, "", from)
		if ($2 == "Debian\047s") { stated = $4; sub(/,$/, "", stated) }
		else { stated = $2; gsub(/^[^0-9]*|(\.orig)?\.tar.*$/, "", stated) }
		if (stated !~ /^[0-9]/) {
			print "sbom.sh: no version in: " $0 | "cat >&2"
			exit failed = 1
		}
		more = purl = ""
		if (match($0, /SHA256 [0-9a-f]+/)) more = sha256(substr($0, RSTART + 7, RLENGTH - 7)) ", "
		if ($2 == "Debian\047s") {
			coded = stated
			gsub(/\+/, "%2B", coded)
			purl = "pkg:deb/debian/" name "@" coded "?arch=source"
		} else {
			supplier[name] = "NOASSERTION"
			purl = "pkg:generic/" name "@" stated
		}
		more = more "\"externalRefs\": [{\"referenceCategory\": \"PACKAGE-MANAGER\", " \
			"\"referenceType\": \"purl\", \"referenceLocator\": \"" purl "\"}], "
		gsub(/["\\]/, "\\\\&", from)
		package(id[$0], name, stated, licences[name], more "\"sourceInfo\": \"" from "\"")
	}
	{ relate(own, "STATIC_LINK", id[$0]) }
	END {
		if (failed) exit 1
		print "\n  ],\n  \"relationships\": ["
		for (i = 1; i <= relations; i++) print related[i] (i < relations ? "," : "")
		print "  ]\n}"
	}' >"$out.new"
mv "$out.new" "$out"
