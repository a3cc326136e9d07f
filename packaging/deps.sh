#!/bin/sh
# Installs the packages that are missing for building, the demo, the tests or the
# linters:
#
#     packaging/deps.sh build|static|release|image|sign|demo|check|valgrind|matrix|machines|fuzz|faults|mutants|bench|sim|model|lint|deb|site|look...
#     packaging/deps.sh amd64|arm64|armhf|i386|s390x...    # compilers for these
#     packaging/deps.sh --missing check...    # only prints what is missing, in a line
#
# Silent and quick if nothing is missing. Never installs a package that starts a
# service.
set -eu

table=$(dirname "$0")/deps.txt
list=
[ "${1:-}" != --missing ] || { list=1 && shift; }
# The modes that each mode includes.
modes=' '
for mode; do
	case $mode in
	static | fuzz | lint | deb | valgrind) modes="$modes build" ;;
	release) modes="$modes build static" ;;
	look) modes="$modes site" ;;
	demo) modes="$modes build" ;;
	bench | sim | faults) modes="$modes build demo" ;;
	check) modes="$modes build demo deb" ;;
	mutants) modes="$modes build demo check" ;;
	matrix) modes="$modes build demo check deb" ;;
	esac
	grep -q "^$mode " "$table" || {
		echo "deps.sh: unknown mode $mode" >&2
		exit 64
	}
	modes="$modes $mode "
done

if command -v apt-get >/dev/null; then
	manager='apt-get'
elif command -v dnf >/dev/null; then
	manager=dnf
elif command -v apk >/dev/null; then
	manager=apk
else
	manager=none
fi

present() {
	case $1 in
	*'|'*) present "${1%%|*}" || present "${1#*|}" ;;
	/*) [ -e "$1" ] ;;
	python3:*) /usr/bin/python3 -c "import ${1#*:}" 2>/dev/null ;;
	*.pc) "${PKG_CONFIG:-pkg-config}" --exists "${1%.pc}" 2>/dev/null ;;
	sanitizers) for lib in "$(clang -print-runtime-dir 2>/dev/null)"/*fuzzer*; do
		[ -e "$lib" ] && return
	done && return 1 ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# Prints "what package" for each thing that is missing.
missing() {
	while read -r mode what apt dnf apk; do
		case $modes in *" $mode "*) ;; *) continue ;; esac
		present "$what" && continue
		case $manager in
		apt-get) package=$apt ;;
		dnf) package=$dnf ;;
		apk) package=$apk ;;
		none) package=- ;;
		esac
		[ "$package" != = ] || continue
		echo "$what $package"
	done <"$table"
}

found=$(missing)
[ -n "$found" ] || exit 0
if [ -n "$list" ]; then
	echo "$found" | sed 's/ .*//' | paste -sd ' '
	exit
fi

orphans=$(echo "$found" | sed -n 's/ -$//p' | tr '\n' ' ')
if [ -n "$orphans" ]; then
	echo "deps.sh: no package is known here for: $orphans" >&2
	exit 1
fi

# Debian's npm requires Debian's nodejs. An installed node is not replaced: then
# npm is not installed, and the tests that require it are skipped.
spares_node() {
	case $manager:$(command -v node) in
	apt-get:/usr/bin/node | apt-get:/bin/node) ;;
	*) return 0 ;; # there is none, or no package replaces it
	esac
	plan=$(apt-get -s install --no-install-recommends npm 2>/dev/null) || {
		apt-get update -qq 2>/dev/null || :
		plan=$(apt-get -s install --no-install-recommends npm 2>/dev/null) || return 1
	}
	! echo "$plan" | grep -Eq '^(Inst|Remv) nodejs '
}
if echo "$found" | grep -q ' npm$' && ! spares_node; then
	echo "deps.sh: npm is missing, and Debian's would replace the installed" \
		"node: install the npm that belongs to this node" >&2
	found=$(echo "$found" | grep -v ' npm$') || exit 0
fi

packages=$(echo "$found" | sed 's/.* //' | tr ',' '\n' | sort -u | tr '\n' ' ')
packages=${packages% }

update=:
case $manager in
apt-get)
	options='-y -qq --no-install-recommends -o DPkg::Lock::Timeout=300'
	update='apt-get update -qq'
	install="env DEBIAN_FRONTEND=noninteractive apt-get install $options $packages"
	;;
dnf) install="dnf install -y -q $packages" ;;
apk) install="apk add -q $packages" ;;
esac

sudo=
if [ "$(id -u)" -ne 0 ]; then
	if command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
		sudo=sudo
	else
		echo "deps.sh: packages are missing; as root, run:" >&2
		echo "  $manager install $packages" |
			sed 's/apk install/apk add/; s/apt-get install/& --no-install-recommends/' >&2
		exit 1
	fi
fi

echo "deps.sh: installing $packages"
# The lists are updated only if the installation fails without.
# shellcheck disable=SC2086 # commands and options must be split
$sudo $install >/dev/null 2>&1 || { $sudo $update && $sudo $install >/dev/null; }
