#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect the demo model's text from documentation packages of Debian main.

Writes three files into the output folder:

* train.txt    training documents, separated by a NUL character
* heldout.txt  held-out documents, separated by a blank line
* sources.csv  one row per package: files, documents and bytes on each side

Nothing is downloaded.  The packages must be installed first (README.md has the
list), together with mandoc, which renders the manual pages, and bible-kjv.
"""

import argparse
import csv
import gzip
import hashlib
import html.parser
import re
import subprocess
from pathlib import Path

# Share of every package's bytes that is held out, whole documents only.
HELDOUT_SHARE = 0.005
# A single long document would crowd out all the others in the held-out text.
HELDOUT_MAX_BYTES = 24_000
# Paragraphs shorter than this (headings, "SEE ALSO") may repeat freely.
DEDUPE_MIN_CHARS = 60

PUNCTUATION = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "--",
    "\u2212": "-", "\u2026": "...", "\u00a0": " ", "\u2022": "*", "\u00b7": "*",
    "\u00ad": None, "\u200b": None, "\ufeff": None, "\u2192": "->",
})

LICENCE_MARKS = (
    "permission is hereby granted", "redistribution and use in source",
    "free documentation license", "without warranty", "all rights reserved",
    "general public license", "permission is granted",
)


# ---------------------------------------------------------------- cleaning --

def clean(text: str) -> str:
    """Normalise punctuation and blank lines; hide mail addresses."""
    text = text.translate(PUNCTUATION).replace("\r", "").replace("\0", "")
    text = text.replace("\x0c", "\n").expandtabs(8)
    # People's addresses are of no use to a language model.
    text = re.sub(r"[\w.+-]+@[\w-]+(\.[\w-]+)+", "user@example.org", text)
    lines = [line.rstrip() for line in text.split("\n")]
    # Rules and table borders teach nothing but long runs of one character.
    lines = [re.sub(r"([=\-_*~#.+])\1{7,}", r"\1\1\1\1", line) for line in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def is_english(text: str) -> bool:
    """Translated documents are dropped by their share of non-ASCII characters."""
    return sum(ord(c) > 126 for c in text) < 0.01 * len(text) + 4


class Paragraphs:
    """Drops repeated paragraphs, and licence texts, across all documents."""

    def __init__(self):
        self.seen = set()

    def unique(self, text: str) -> str:
        kept = []
        for paragraph in text.split("\n\n"):
            flat = re.sub(r"\W+", " ", paragraph).strip().lower()
            if any(mark in flat for mark in LICENCE_MARKS):
                continue
            if len(flat) >= DEDUPE_MIN_CHARS:
                key = hashlib.blake2b(flat.encode(), digest_size=8).digest()
                if key in self.seen:
                    continue
                self.seen.add(key)
            kept.append(paragraph)
        return "\n\n".join(kept).strip("\n")


# ----------------------------------------------------------------- formats --

def read(path: Path) -> str:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


class HtmlText(html.parser.HTMLParser):
    """Plain text of an HTML page, with paragraphs kept apart."""

    BLOCKS = {"p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "ul", "ol",
              "dl", "table", "blockquote", "section"}
    LINES = {"li", "dt", "dd", "tr", "br"}
    SKIP = {"script", "style", "head", "nav", "title", "svg"}

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.out, self.skip, self.pre = [], 0, 0

    def handle_starttag(self, tag, attrs):
        if tag in self.SKIP:
            self.skip += 1
        elif tag in self.BLOCKS:
            self.out.append("\n\n")
        elif tag in self.LINES:
            self.out.append("\n" + ("* " if tag == "li" else ""))
        elif tag == "td":
            self.out.append("  ")
        if tag == "pre":
            self.pre += 1

    def handle_endtag(self, tag):
        if tag in self.SKIP:
            self.skip = max(0, self.skip - 1)
        elif tag in self.BLOCKS:
            self.out.append("\n\n")
        if tag == "pre":
            self.pre = max(0, self.pre - 1)

    def handle_data(self, data):
        if not self.skip:
            self.out.append(data if self.pre else re.sub(r"\s+", " ", data))


def html_text(path: Path) -> str:
    parser = HtmlText()
    parser.feed(read(path))
    text = re.sub(r"\n[ ]+\n", "\n\n", "".join(parser.out))
    text = re.sub(r"\* \s*\n+", "* ", text)
    # Source lines are one long line per paragraph; wrap like the other texts.
    return "\n".join(wrap(line) for line in text.split("\n"))


def wrap(line: str, width: int = 76) -> str:
    if len(line) <= width:
        return line
    out, current = [], ""
    for word in line.split(" "):
        if current and len(current) + 1 + len(word) > width:
            out.append(current)
            current = word
        else:
            current = f"{current} {word}" if current else word
    return "\n".join(out + [current])


def pod_text(path: Path) -> str:
    """Plain text of a Perl POD file: directives and formatting codes removed."""
    text = read(path)
    text = re.sub(r"^=(begin|for)\b.*?(^=end\b.*?$|\n\n)", "", text, flags=re.S | re.M)
    text = re.sub(r"^=head(\d)\s+", "", text, flags=re.M)
    text = re.sub(r"^=item\s+", "", text, flags=re.M)
    text = re.sub(r"^=\w+.*$", "", text, flags=re.M)
    text = re.sub(r"[XZ]<[^<>]*>", "", text)
    for _ in range(3):  # the codes nest
        text = re.sub(r"L<([^<>|]*\|)?([^<>]*)>",
                      lambda m: m.group(1)[:-1] if m.group(1) else m.group(2), text)
        text = re.sub(r"[BCFIS]<<+ (.*?) >>+", r"\1", text)
        text = re.sub(r"[BCFIS]<([^<>]*)>", r"\1", text)
    return text.replace("E<lt>", "<").replace("E<gt>", ">")


def man_texts(package: str):
    """Manual pages of one package, rendered by mandoc."""
    paths = [p for p in package_files(package)
             if re.search(r"/man/man\d/[^/]+\.gz$", str(p)) and not p.is_symlink()]
    for path in paths:
        source = read(path)
        if source.lstrip().startswith(".so ") and source.count("\n") < 4:
            continue  # an alias of another page
        result = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=78"],
                                input=source.encode(), capture_output=True, check=False)
        text = re.sub(r".\x08", "", result.stdout.decode("utf-8", "replace"))
        body = text.strip("\n").split("\n")
        # First and last line repeat the title, version and date.
        yield path, "\n".join([body[0].split("  ")[0]] + body[1:-1])


def package_files(package: str):
    names = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True,
                           check=True).stdout.split("\n")
    return sorted(Path(n) for n in names if n and Path(n).is_file())


def entries(text: str, pattern: str, group_bytes: int):
    """Split a dictionary at its head words, several entries to a document."""
    starts = [m.start() for m in re.finditer(pattern, text, flags=re.M)]
    group = ""
    for begin, end in zip(starts, starts[1:] + [len(text)]):
        group += text[begin:end].strip("\n") + "\n\n"
        if len(group) >= group_bytes:
            yield group
            group = ""
    if group:
        yield group


# ------------------------------------------------------------------ sources --

def matching(package: str, pattern: str, exclude: str = r"$^"):
    return [p for p in package_files(package)
            if re.search(pattern, str(p)) and not re.search(exclude, str(p))]


def documents():
    """Yield (package, name, text) for every document."""
    for package in ("manpages", "manpages-dev"):
        for path, text in man_texts(package):
            yield package, path.name, text

    bible = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True,
                           text=True, check=True).stdout
    chapters = {}
    for line in bible.split("\n"):
        m = re.match(r"(\S+?)(\d+):(\d+) (.*)", line)
        if m:
            chapters.setdefault((m[1], m[2]), []).append(f"{m[3]} {m[4]}")
    for (book, chapter), verses in chapters.items():
        text = f"{book} {chapter}\n\n" + "\n".join(wrap(v) for v in verses)
        yield "bible-kjv-text", f"{book} {chapter}", text

    for path in matching("miscfiles", r"/usr/share/state/"):
        yield "miscfiles", path.name, read(path)

    html_sources = {
        "debian-policy": (r"policy\.html/.*\.html$|fhs-3.0.html", r"genindex|search|index"),
        "debian-reference-en": (r"ch\d+\.en\.html$", r"$^"),
        "maint-guide": (r"\.en\.html$", r"index"),
        "debian-faq": (r"\.en\.html$", r"index"),
        "developers-reference": (r"/developers-reference/[^/]+\.html$",
                                 r"developers-reference\.html|genindex|search|index|l10n-"),
        "debian-handbook": (r"/en-US/[^/]+\.html$", r"index|ix01"),
        "harden-doc": (r"/en-US/[^/]+\.html$", r"index|changelog|ix01"),
        "debian-kernel-handbook": (r"\.html$", r"index"),
        "bash-doc": (r"/bashref\.html$", r"$^"),
    }
    for package, (pattern, exclude) in html_sources.items():
        for path in matching(package, pattern, exclude):
            yield package, str(path), html_text(path)

    for path in matching("doc-debian", r"/doc/debian/[\w.-]+\.txt\.gz$",
                         r"constitution\.1|mailing"):
        yield "doc-debian", path.name, read(path)


def split(found):
    """Hold out whole documents of every package, by a hash of their name."""
    by_package = {}
    for package, name, text in found:
        digest = hashlib.sha256(f"{package}/{name}".encode()).hexdigest()
        by_package.setdefault(package, []).append((digest, text))
    train, heldout = [], []
    for package, texts in by_package.items():
        wanted = HELDOUT_SHARE * sum(len(text) for _, text in texts)
        taken = 0
        for _, text in sorted(texts):
            # Half-way rounding, so that no package gives far more than its share.
            if len(text) <= HELDOUT_MAX_BYTES and taken + len(text) / 2 < wanted:
                heldout.append((package, text))
                taken += len(text)
            else:
                train.append((package, text))
    return train, heldout


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    found = ((package, name, clean(text)) for package, name, text in documents())
    train, heldout = split(
        (package, name, text) for package, name, text in found
        if len(text) >= 200 and is_english(text))

    # The held-out text goes first, so that a paragraph that stands on both
    # sides is taken out of the training text.
    paragraphs = Paragraphs()
    counts = {}
    for side, index in ((heldout, 0), (train, 2)):
        for i, (package, text) in enumerate(side):
            text = paragraphs.unique(text)
            side[i] = text
            row = counts.setdefault(package, [0, 0, 0, 0])
            row[index] += bool(text)
            row[index + 1] += len(text.encode())

    (out / "heldout.txt").write_text("\n\n".join(t for t in heldout if t) + "\n")
    (out / "train.txt").write_text("\0".join(t for t in train if t))
    with (out / "sources.csv").open("w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["package", "heldout_documents", "heldout_bytes",
                         "train_documents", "train_bytes"])
        for package, row in counts.items():
            writer.writerow([package, *row])
            print(package, *row)
    totals = [sum(row[i] for row in counts.values()) for i in range(4)]
    print("total", *totals)


if __name__ == "__main__":
    main()
