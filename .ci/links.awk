# Reads every document twice: first its headings, then its links and the names in backquotes.
# Prints what does not resolve, and `test PLACE FILES NAME` for each test that is named.

BEGIN {
    while ((getline path < files) > 0) {
        exists[path] = 1
        n = split(path, part, "/")
        # Folders exist too, and a source file is known by each end of its path.
        folder = ""
        for (i = 1; i < n; i++) {
            folder = folder (i > 1 ? "/" : "") part[i]
            exists[folder] = 1
        }
        tail = part[n]
        add(tail, path)
        for (i = n - 1; i >= 1; i--) {
            tail = part[i] "/" tail
            add(tail, path)
        }
        # A module that is a folder: its files, by the folder's name.
        if (n > 1 && path ~ /\.rs$/)
            add(part[n - 1] ".rs", path, 1)
    }
    half = (ARGC - 1) / 2
}

function add(tail, path, only_tests) {
    if (path !~ /\.rs$/)
        return
    if (!only_tests)
        source[tail] = 1
    holds[tail] = holds[tail] (holds[tail] ? "," : "") path
}

FNR == 1 {
    reads++
    fenced = 0
    folder = FILENAME
    if (!sub(/\/[^\/]*$/, "", folder))
        folder = ""
}

/^ *```/ {
    fenced = !fenced
    next
}

fenced { next }

# As GitHub makes an anchor of a heading: lower case, no punctuation, hyphens for spaces.
reads <= half {
    if (/^#+ /) {
        slug = $0
        sub(/^#+ +/, "", slug)
        while (match(slug, /\]\([^)]*\)/))
            slug = substr(slug, 1, RSTART - 1) substr(slug, RSTART + RLENGTH)
        slug = tolower(slug)
        gsub(/[^a-z0-9 _-]/, "", slug)
        gsub(/ /, "-", slug)
        key = FILENAME "#" slug
        if (headings[key]++)
            key = key "-" (headings[key] - 1)
        anchors[key] = 1
    }
    next
}

{
    # Code in backquotes first, and away with it: it has no links.
    rest = $0
    plain = ""
    while (match(rest, /`[^`]*`/)) {
        code(substr(rest, RSTART + 1, RLENGTH - 2))
        plain = plain substr(rest, 1, RSTART - 1) "x"
        rest = substr(rest, RSTART + RLENGTH)
    }
    plain = plain rest
    while (match(plain, /\]\([^) ]*/)) {
        link(substr(plain, RSTART + 2, RLENGTH - 2))
        plain = substr(plain, RSTART + RLENGTH)
    }
}

function code(text,    n, word, i) {
    if (text ~ /^[a-z0-9_\/.-]+\.rs$/ && !(text in source))
        print FILENAME ":" FNR ": no source file " text
    if (text ~ /^[a-z0-9_\/]+(\.rs)?(::[a-z0-9_]+)+$/) {
        n = split(text, word, "::")
        tail = word[n - 1]
        sub(/\.rs$/, "", tail)
        if ((tail ".rs") in holds)
            print "test", FILENAME ":" FNR, holds[tail ".rs"], word[n]
        else
            print FILENAME ":" FNR ": no source file " tail ".rs for " text
    }
}

function link(target,    path, anchor, at) {
    if (target ~ /^([a-z]+:|<)/ || target == "")
        return
    at = index(target, "#")
    anchor = at ? substr(target, at + 1) : ""
    path = at ? substr(target, 1, at - 1) : target
    path = path == "" ? FILENAME : normal(folder == "" ? path : folder "/" path)
    if (!(path in exists))
        print FILENAME ":" FNR ": no file " path " for the link " target
    else if (anchor != "" && path ~ /\.md$/ && !((path "#" anchor) in anchors))
        print FILENAME ":" FNR ": no heading for the link " target
}

function normal(path,    n, part, i, kept, depth) {
    n = split(path, part, "/")
    depth = 0
    for (i = 1; i <= n; i++) {
        if (part[i] == "..")
            depth--
        else if (part[i] != "." && part[i] != "")
            kept[++depth] = part[i]
    }
    path = ""
    for (i = 1; i <= depth; i++)
        path = path (i > 1 ? "/" : "") kept[i]
    return path
}
