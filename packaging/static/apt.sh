# shellcheck shell=sh
# Sourced by scripts that download from the servers that apt is set up with: apt with
# lists of its own, so that those of the machine stay as they are. apt checks what it
# downloads against the signed lists.

# apt_list_entries TYPE: the machine's own entries for the servers of its
# distribution, of that type, deb-src or deb, for any architecture.
apt_list_entries() {
	list='' parts=''
	eval "$(apt-config shell list Dir::Etc::sourcelist/f parts Dir::Etc::sourceparts/d)"
	# shellcheck disable=SC2016 # apt expands that
	sites=$(apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' |
		sed -n 's/^\(Debian\|Ubuntu\) //p' | sort -u)
	mkdir -p "$apt/parts"
	for file in "$list" "$parts"*.list; do
		[ ! -f "$file" ] || sed -n "s/\\[arch=[^] ]*]//; s/^deb\\([ \t]\\)/$1\\1/p" "$file"
	done | grep -F "$sites" >"$apt/parts/sources.list" || :
	for file in "$parts"*.sources; do
		[ ! -f "$file" ] || awk -v RS= -v sites="$sites" -v type="$1" '
			BEGIN { count = split(sites, site) }
			{ known = count == 0
			  for (i = 1; i <= count; i++) known = known || index($0, site[i])
			  gsub(/\nArchitectures:[^\n]*/, "")
			  gsub(/(^|\n)Types:[^\n]*/, "\nTypes: " type)
			  if (known) print $0 "\n" }' "$file"
	done >"$apt/parts/sources.sources"
}

# with_lists COMMAND ARGUMENT...: of apt, for the architecture $apt_arch if it is set.
with_lists() {
	command=$1
	shift
	"$command" -q -o APT::Sandbox::User=root -o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$apt/parts" -o Dir::State::lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" \
		${apt_arch:+-o APT::Architecture="$apt_arch" -o APT::Architectures="$apt_arch"} "$@"
}

# apt_prepare FOLDER TYPE: downloads the lists into a new folder.
apt_prepare() {
	apt=$1
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	apt_list_entries "$2"
	with_lists apt-get update
}
