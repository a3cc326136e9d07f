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

# mode, what to look for (a|b: either), package for apt-get, dnf and apk (a,b: both;
# -: none is known; =: none exists, and it is optional). Debian's redis-server would
# start a daemon on the default port, but redis-tools contains the server as well.
# A system that has another init does not get systemd for its tools.
table='
build cc                           gcc               gcc                gcc
build /usr/include/stdio.h         libc6-dev         glibc-devel        musl-dev,linux-headers
build make                         make              make               make
build awk                          mawk              gawk               =
build pkg-config                   pkg-config        pkgconf-pkg-config pkgconf
build hiredis.pc                   libhiredis-dev    hiredis-devel      hiredis-dev
build libssl.pc                    libssl-dev        openssl-devel      openssl-dev
static musl-gcc                    musl-tools        musl-gcc           =
static git                         git               git                git
static perl                        perl              perl               perl
static dpkg-source                 dpkg-dev          =                  =
amd64 x86_64-linux-gnu-gcc         gcc-x86-64-linux-gnu -               -
amd64 /usr/x86_64-linux-gnu/include/asm linux-libc-dev-amd64-cross -    -
amd64 qemu-x86_64-static           qemu-user-static  -                  -
arm64 aarch64-linux-gnu-gcc        gcc-aarch64-linux-gnu -              -
arm64 /usr/aarch64-linux-gnu/include/asm linux-libc-dev-arm64-cross -   -
arm64 qemu-aarch64-static          qemu-user-static  -                  -
armhf arm-linux-gnueabihf-gcc      gcc-arm-linux-gnueabihf -            -
armhf /usr/arm-linux-gnueabihf/include/asm linux-libc-dev-armhf-cross - -
armhf qemu-arm-static              qemu-user-static  -                  -
i386  i686-linux-gnu-gcc           gcc-i686-linux-gnu -                 -
i386  /usr/i686-linux-gnu/include/asm linux-libc-dev-i386-cross -       -
i386  qemu-i386-static             qemu-user-static  -                  -
s390x s390x-linux-gnu-gcc          gcc-s390x-linux-gnu -                -
s390x /usr/s390x-linux-gnu/include/asm linux-libc-dev-s390x-cross -     -
s390x qemu-s390x-static            qemu-user-static  -                  -
demo  bash                         bash              bash               bash
demo  redis-cli|valkey-cli         redis-tools       redis              redis
demo  redis-server|redis-check-rdb|valkey-server|valkey-check-rdb redis-tools redis redis
check bats                         bats              bats               bats
check python3                      python3           python3            python3
check mandoc                       mandoc            mandoc             mandoc
check zsh                          zsh               zsh                zsh
check fish                         fish              fish               fish
check dash                         dash              dash               dash
check busybox                      busybox           busybox            busybox
check less                         less              less               less
check ps                           procps            procps-ng          procps
check strace                       strace            strace             strace
check socat                        socat             socat              socat
check ip                           iproute2          iproute            iproute2
check tc                           iproute2          iproute-tc         iproute2
check unshare                      util-linux        util-linux         util-linux
check python3:yaml                 python3-yaml      python3-pyyaml     py3-yaml
check python3:redis                python3-redis     python3-redis      py3-redis
check curl                         curl              curl               curl
check openssl                      openssl           openssl            openssl
check node                         nodejs            nodejs             nodejs
check npm                          npm               npm                npm
check systemd-analyze|/sbin/init   systemd           systemd            =
deb   dh                           debhelper         =                  =
deb   dpkg-buildpackage            dpkg-dev          =                  =
deb   /usr/share/build-essential/list build-essential = =
deb   lintian                      lintian           =                  =
release rpmbuild                   rpm               rpm-build          rpm-dev
release dpkg-deb                   dpkg              dpkg               dpkg
release rpmlint                    rpmlint           rpmlint            =
release lintian                    lintian           =                  =
image buildah                      buildah           buildah            buildah
image crun                         crun              crun               crun
sign  minisign                     minisign          minisign           minisign
check minisign                     minisign          minisign           minisign
check faketime                     faketime          libfaketime        libfaketime
check proot                        proot             proot              -
check jq                           jq                jq                 jq
valgrind valgrind                  valgrind          valgrind           valgrind
matrix clang                       clang             clang              clang
matrix unshare                     util-linux        util-linux         util-linux
matrix debootstrap                 debootstrap       =                  =
machines qemu-system-x86_64        qemu-system-x86   =                  =
machines qemu-system-aarch64       qemu-system-arm   =                  =
machines qemu-system-s390x         qemu-system-misc  =                  =
machines cpio                      cpio              cpio               cpio
bench flock                        util-linux        util-linux         util-linux
bench strace                       strace            strace             strace
bench valgrind                     valgrind          valgrind           valgrind
bench ps                           procps            procps-ng          procps
bench python3:redis                python3-redis     python3-redis      py3-redis
bench xargs                        findutils         findutils          findutils
bench openssl                      openssl           openssl            openssl
bench gnuplot                      gnuplot-nox       gnuplot            gnuplot
model bash                         bash              bash               bash
model cc                           gcc               gcc                gcc
model /usr/include/stdio.h         libc6-dev         glibc-devel        musl-dev,linux-headers
model spin                         spin              -                  -
sim   luajit.pc                    libluajit-5.1-dev  luajit-devel       luajit-dev
sim   luajit                       luajit             luajit           luajit
sim   lua5.1|lua-5.1               lua5.1             compat-lua       lua5.1
sim   python3                      python3            python3          python3
faults python3                     python3           python3            python3
faults openssl                     openssl           openssl            openssl
faults objdump                     binutils          binutils           binutils
mutants luac5.1|luac-5.1           lua5.1            compat-lua         lua5.1
mutants objcopy                    binutils          binutils           binutils
fuzz  clang                        clang             clang              clang
fuzz  sanitizers                   libclang-rt-14-dev compiler-rt       compiler-rt
fuzz  llvm-symbolizer              llvm              llvm               llvm
lint  git                          git               git                git
lint  bash                         bash              bash               bash
lint  gcc                          gcc               gcc                gcc
lint  clang                        clang             clang              clang
lint  clang-format-14              clang-format-14   -                  -
lint  clang-tidy-14                clang-tidy-14     -                  -
lint  luac5.1|luac-5.1             lua5.1            compat-lua         lua5.1
lint  luacheck                     lua-check         luacheck           luacheck
lint  cppcheck                     cppcheck          cppcheck           cppcheck
lint  shellcheck                   shellcheck        ShellCheck         shellcheck
lint  python3:pyflakes             python3-pyflakes  python3-pyflakes   py3-pyflakes
lint  mandoc                       mandoc            mandoc             mandoc
lint  lowdown                      lowdown           lowdown            lowdown
lint  aspell                       aspell            aspell             aspell
lint  python3                      python3           python3            python3
lint  /usr/lib/aspell/en_GB.multi  aspell-en         =                  =
site  lowdown                      lowdown           lowdown            lowdown
site  mandoc                       mandoc            mandoc             mandoc
site  python3                      python3           python3            python3
look  chromium                     chromium          chromium           chromium
'

# The modes that each mode includes.
list=
[ "${1:-}" != --missing ] || { list=1 && shift; }
modes=' '
for mode; do
	case $mode in
	build) modes="$modes build " ;;
	static) modes="$modes build static " ;;
	amd64 | arm64 | armhf | i386 | s390x) modes="$modes $mode " ;; # cross compilers
	release) modes="$modes build static release " ;;
	image) modes="$modes image " ;;
	sign) modes="$modes sign " ;;
	demo) modes="$modes build demo " ;;
	check) modes="$modes build demo check deb " ;;
	fuzz) modes="$modes build fuzz " ;;
	lint) modes="$modes build lint " ;;
	deb) modes="$modes build deb " ;;
	site) modes="$modes site " ;;
	look) modes="$modes site look " ;;
	valgrind) modes="$modes build valgrind " ;;
	matrix) modes="$modes build demo check deb matrix " ;;
	machines) modes="$modes machines " ;;
	bench) modes="$modes build demo bench " ;;
	sim) modes="$modes build demo sim " ;;
	faults) modes="$modes build demo faults " ;;
	mutants) modes="$modes build demo check mutants " ;;
	model) modes="$modes model " ;;
	*) echo "deps.sh: unknown mode $mode" >&2 && exit 64 ;;
	esac
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
	done <<-END
		$(echo "$table" | grep .)
	END
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
