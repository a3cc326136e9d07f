#!/usr/bin/python3
"""Makes static pages of the book (man/book), of the manual pages and of the changelog:

    packaging/site.py FOLDER

They refer to each other by relative links and load nothing from elsewhere, so they work
from a web server as from a disk. Requires lowdown and mandoc."""
import glob
import html
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ELSEWHERE = "https://manpages.debian.org/%N.%S"


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def run(*command, cwd=None):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=cwd,
                          encoding="utf-8").stdout


def plain(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


# --- from Markdown ------------------------------------------------------------------

def figures(text, moving):
    """A picture and the emphasised lines below it become a figure with a caption. The
    picture is a link to itself. One that moves has a still copy for paper, which would
    otherwise show a random frame."""
    def figure(match):
        picture = re.search(r'src="([^"]*)"', match[1])[1]
        still = ""
        if picture in moving:
            still = match[1].replace('.svg"', '-still.svg" class="still"', 1) + "\n"
        return ('<figure>\n<a href="%s">\n%s%s\n</a>\n<figcaption>%s</figcaption>\n</figure>'
                % (picture, still, match[1], match[2]))
    return re.sub(r"<p>(<img [^>]*>)<br ?/>\s*<em>(.*?)</em></p>", figure, text, flags=re.S)


def tables(text):
    """Each cell names its column, for narrow screens that show a row as a paragraph."""
    def table(match):
        names = [plain(name) for name in re.findall(r"<th[ >].*?</th>", match[0], re.S)]

        def row(cells):
            columns = iter(names)
            return re.sub(r"<td", lambda _: '<td data-label="%s"' %
                          html.escape(next(columns, "")), cells[0])
        rows = re.sub(r"<tr>.*?</tr>", row, match[0], flags=re.S)
        return '<div class="table">%s</div>' % rows
    return re.sub(r"<table>.*?</table>", table, text, flags=re.S)


def sessions(text):
    """Commands of a session are told from their output."""
    return re.sub(
        r'<pre><code class="language-console">.*?</pre>',
        lambda match: re.sub(r"^(<pre><code[^>]*>)?((?:\$|&#62;|&gt;) .*)$", r"\1<b>\2</b>",
                             match[0], flags=re.M),
        text, flags=re.S)


def options(text):
    """An option is never broken after its dashes."""
    def code(match):
        return match[1] + re.sub(r"(?<![\w-])--?[a-z][a-z-]*",
                                 r'<span class="word">\g<0></span>', match[2]) + match[3]
    text = re.sub(r"<code>([^ <]{1,28})</code>", r'<code class="word">\1</code>', text)
    return re.sub(r"(<code[^>]*>)([^<]*)(</code>)", code, text)


def chapter(path, moving):
    """A Markdown file as HTML. Links to files of the tree become links to the pages and
    copies of the site."""
    text = run("lowdown", "-t", "html", path)
    for pattern, link in [
            (r'(href="[a-z-]+)\.md([#"])', r"\1.html\2"),
            (r'href="(?:\.\./|man/)(rlockrun[a-z.-]*\.[157])([#"])', r'href="\1.html\2'),
            (r'href="man/book/([a-z-]+)\.md([#"])', r'href="\1.html\2'),
            (r'(src="|href=")\.\./pictures/', r"\1pictures/"),
            (r'href="\.\./\.\./packaging/examples/', 'href="examples/'),
            (r'href="\.\./\.\./([^"#]*?)(?:\.md)?(#[^"]*)?"', r'href="tree/\1.txt"')]:
        text = re.sub(pattern, link, text)
    return options(sessions(tables(figures(text, moving))))


# --- pages --------------------------------------------------------------------------

def sections(text):
    """The headings of a page that have an anchor, and the text up to the next one:
    lowdown's, or mandoc's."""
    parts = re.split(r'<h[123][^>]* id="([^"]+)"[^>]*>(.*?)</h[123]>', text, flags=re.S)
    return [(parts[i], plain(parts[i + 1]).strip(), plain(parts[i + 2]))
            for i in range(1, len(parts), 3)]


def contents(pages, current, text):
    """The list of all pages, with the sections of the current one."""
    lines = []
    for kind in "The book", "Manual pages", "Changes":
        lines.append("<p>%s</p>\n<ul>" % kind)
        for page in (page for page in pages if page["kind"] == kind):
            here = ' aria-current="page"' if page is current else ""
            lines.append('<li><a href="%s.html"%s>%s</a>' %
                         (page["name"], here, html.escape(page["entry"])))
            if page is current and kind != "Manual pages":  # they have a list of their own
                lines.append("<ul>")
                lines += ['<li><a href="#%s">%s</a></li>' % (anchor, html.escape(title))
                          for anchor, title, _ in sections(text)[1:]]
                lines.append("</ul>")
            lines.append("</li>")
        lines.append("</ul>")
    return "\n".join(lines)


def neighbours(pages, current):
    at = pages.index(current)
    links = []
    for step, word, mark in (-1, "prev", "← %s"), (1, "next", "%s →"):
        if 0 <= at + step < len(pages):
            page = pages[at + step]
            links.append('<a rel="%s" href="%s.html">%s</a>' %
                         (word, page["name"], mark % html.escape(page["entry"])))
    return '<footer>%s</footer>' % "\n".join(links)


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
<script src="site.js" defer></script>
</head>
<body>
<header>
<a href="index.html">rlockrun</a>
<button type="button" aria-expanded="false" aria-controls="contents">Contents</button>
<form role="search"><input type="search" placeholder="Search" aria-label="Search"></form>
</header>
<nav id="contents" aria-label="Contents">
{contents}
</nav>
<main>
{text}
{neighbours}
</main>
</body>
</html>
"""


def make_page(pages, page):
    title = page["title"] if page["name"] == "index" else page["title"] + " - rlockrun"
    return PAGE.format(title=html.escape(title), contents=contents(pages, page, page["text"]),
                       text=page["text"], neighbours=neighbours(pages, page))


def search_index(pages):
    """A row for each section: its address, its page, its heading and its words."""
    rows = []
    for page in pages:
        for anchor, title, text in sections(page["text"]):
            words = re.findall(r"[a-z0-9][a-z0-9_-]+", (title + " " + text).lower())
            rows.append(["%s.html#%s" % (page["name"], anchor), page["entry"], title,
                         " ".join(sorted(set(words)))])
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return "const sections = %s;\n" % text


def find_pages(out, moving):
    book = [("index", "Overview")] + [
        (name, entry) for entry, name in
        re.findall(r"^[-*] \[(.*)\]\(([a-z-]*)\.md\)", read("book/index.md"), re.M)]
    pages = [{"name": name, "entry": entry, "kind": "The book",
              "title": re.search(r"^# (.*)", read("book/%s.md" % name), re.M)[1],
              "text": chapter("book/%s.md" % name, moving)} for name, entry in book]
    manuals = sorted(glob.glob("*.[157]"), key=lambda name: (name[-1], name))
    # mandoc links to a page if it finds that file here.
    for manual in manuals:
        write(os.path.join(out, manual + ".html"), "")
    for manual in manuals:
        title = "%s(%s)" % (manual[:-2], manual[-1])
        pages.append({"name": manual, "entry": title, "title": title, "kind": "Manual pages",
                      "text": options(run("mandoc", "-T", "html", "-O",
                                          "fragment,toc,man=%N.%S.html;" + ELSEWHERE,
                                          os.path.abspath(manual), cwd=out))})
    pages.append({"name": "changelog", "entry": "Changelog", "title": "Changelog",
                  "kind": "Changes", "text": chapter("../CHANGELOG.md", moving)})
    return pages


def copy_files(out, moving):
    for folder in "examples", "pictures", "tree":
        shutil.rmtree(os.path.join(out, folder), ignore_errors=True)
    for name in "style.css", "site.js":
        shutil.copy(os.path.join("book", name), out)
    shutil.copytree("../packaging/examples", os.path.join(out, "examples"))
    os.mkdir(os.path.join(out, "pictures"))
    for picture in glob.glob("pictures/*.svg"):
        shutil.copy(picture, os.path.join(out, picture))
        if picture in moving:
            write(os.path.join(out, picture[:-4] + "-still.svg"),
                  re.sub(r"^@media \(prefers-reduced-motion.*?^}\n", "", read(picture),
                         flags=re.M | re.S))
    # What the chapters refer to in the rest of the tree.
    for path in glob.glob("book/*.md"):
        for name in re.findall(r"\]\(\.\./\.\./([^)#]*)", read(path)):
            if not name.startswith("packaging/examples/"):
                copy = os.path.join(out, "tree", re.sub(r"\.md$", "", name) + ".txt")
                os.makedirs(os.path.dirname(copy), exist_ok=True)
                shutil.copy("../" + name, copy)


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    out = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(ROOT, "man"))
    moving = [name for name in glob.glob("pictures/*.svg")
              if "\n@media (prefers-reduced-motion" in read(name)]
    copy_files(out, moving)
    pages = find_pages(out, moving)
    for page in pages:
        write(os.path.join(out, page["name"] + ".html"), make_page(pages, page))
    write(os.path.join(out, "search.js"), search_index(pages))


main()
