# Sources, releases and packages.

dist: ## build/rlockrun-VERSION.tar.gz of what is committed
	@mkdir -p build
	packaging/source.sh archive $(VERSION) | gzip -9n >build/rlockrun-$(VERSION).tar.gz

# With libraries that were fixed, `make release REVISION=2` builds newer packages of the
# same version. An environment's REVISION is meant for others.
REVISION := 1

# First what would make it fail after minutes: tools, and the clock.
release: ## archive and packages of the static build, of what is committed (ARCH=arm64 REVISION=2)
	@packaging/deps.sh release
	@REVISION=$(REVISION) packaging/static/release.sh $(VERSION)
	@$(MAKE) --no-print-directory libraries
	@REVISION=$(REVISION) packaging/static/release.sh $(VERSION) $(LIBRARIES) $(OTHER)

image: ## an OCI layout of what make release has left, for each of amd64 and arm64
	@packaging/deps.sh image
	@packaging/static/image.sh $(VERSION)

sign: ## sign the checksums of build/rlockrun-VERSION with minisign (KEY=FILE)
	@packaging/deps.sh sign
	@packaging/sign.sh $(VERSION) $(KEY)

# A key or a date that is missing is reported before anything is compiled.
release-all: ## release for amd64 and arm64, image and, with KEY=FILE, signature; then verify
	@$(if $(KEY),packaging/deps.sh sign && packaging/sign.sh $(VERSION) $(KEY) check)
	@$(MAKE) --no-print-directory release ARCH=amd64
	@$(MAKE) --no-print-directory release ARCH=arm64
	@$(MAKE) --no-print-directory image
	@$(if $(KEY),$(MAKE) --no-print-directory sign)
	@packaging/verify.sh build/rlockrun-$(VERSION) '' $(VERSION)

deb: ## a Debian package of the working tree, in build/
	@packaging/deps.sh deb sim
	@packaging/deb.sh $(VERSION)

site: ## the book and the manual pages as HTML: build/site/index.html
	@packaging/deps.sh site
	@packaging/site.py build/site

.PHONY: dist release image sign release-all deb site
