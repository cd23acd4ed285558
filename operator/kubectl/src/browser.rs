//! Opens pages in Chromium, if this machine has it: their texts fit, and search, zoom and sorting
//! work under the page's own Content-Security-Policy. `USNET_SCREENSHOTS=FOLDER` keeps the
//! screenshots, for users to look at.

use super::commands::graph::report::graph;
use super::commands::graph::testing::{large, small};
use super::commands::graph::{graph_page, picture};
use super::commands::report;
use super::html::hash;
use k8s_openapi::jiff::Timestamp;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const CHECKS: &str = include_str!("browser.js");

/// Returns the program of the browser.
fn browser() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let found =
        names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|it| it.is_file());
    if found.is_none() {
        println!("SKIPPED: there is no Chromium: apt-get install chromium-headless-shell");
    }
    found
}

struct Browser {
    program: PathBuf,
    folder: tempfile::TempDir,
}

impl Browser {
    /// Runs the browser with a page, and returns its standard output. No other host is reached.
    fn open(&self, name: &str, page: &str, arguments: &[&str]) -> String {
        let file = self.folder.path().join(name);
        fs::write(&file, page).unwrap();
        let mut command = Command::new(&self.program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr"]);
        command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking", "--no-first-run"]);
        command.arg(format!("--user-data-dir={}", self.folder.path().join("profile").display()));
        let output = command.args(arguments).arg(format!("file://{}", file.display())).output().unwrap();
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {log}");
        assert!(!log.contains("CONSOLE"), "{name} has messages of scripts or of its policy: {log}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Makes a screenshot that is not empty.
    fn screenshot(&self, name: &str, page: &str, size: (u32, u32), is_dark: bool) {
        let kept = std::env::var_os("USNET_SCREENSHOTS").map_or_else(|| self.folder.path().to_owned(), PathBuf::from);
        fs::create_dir_all(&kept).unwrap();
        let image = kept.join(Path::new(name).with_extension(if is_dark { "dark.png" } else { "png" }));
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark));
        let (size, target) =
            (format!("--window-size={},{}", size.0, size.1), format!("--screenshot={}", image.display()));
        self.open(name, page, &[&size, &target, &scheme]);
        let bytes = fs::metadata(&image).unwrap().len();
        assert!(bytes > 20_000, "{}: {bytes} bytes are an empty picture", image.display());
    }

    /// Runs the checks in a page, whose policy allows them in addition. Returns what is wrong.
    fn check(&self, name: &str, page: &str) -> String {
        let page = page.replacen("script-src '", &format!("script-src '{}' '", hash(CHECKS)), 1);
        let page = page.replacen("</body>", &format!("<script>{CHECKS}</script>\n</body>"), 1);
        let document = self.open(name, &page, &["--dump-dom", "--window-size=1500,1000"]);
        let result = document.split("<pre id=\"checks\">").nth(1).and_then(|rest| rest.split("</pre>").next());
        result.unwrap_or("the checks did not run").to_owned()
    }
}

#[test]
fn pages_work_in_a_browser_and_their_texts_fit() {
    let Some(program) = browser() else { return };
    let start = Instant::now();
    let browser = Browser { program, folder: tempfile::tempdir().unwrap() };
    let (few, many) = (small(), large(7));
    let report = report::page(&report::tests::example(&few));
    assert_eq!(browser.check("check-report.html", &report), "", "the page of a small cluster");
    let large_report = report::page(&report::tests::example(&many));
    assert_eq!(browser.check("check-large.html", &large_report), "", "the page of a large cluster");
    browser.screenshot("report.html", &report, (1500, 1650), false);
    if std::env::var_os("USNET_SCREENSHOTS").is_some() {
        browser.screenshot("report.html", &report, (1500, 1650), true);
        browser.screenshot("report-large.html", &large_report, (1700, 2400), false);
        let graph_of_many = graph(&many, None);
        browser.screenshot(
            "graph-page.html",
            &graph_page(&graph(&few, None), Timestamp::UNIX_EPOCH),
            (1500, 900),
            false,
        );
        browser.screenshot(
            "graph-large-page.html",
            &graph_page(&graph_of_many, Timestamp::UNIX_EPOCH),
            (1700, 1400),
            true,
        );
        browser.screenshot("graph.svg", &picture::document(&graph(&few, None)), (1500, 700), false);
        browser.screenshot("graph-large.svg", &picture::document(&graph_of_many), (4900, 3900), false);
    }
    println!("pages in a browser: {:.1} s", start.elapsed().as_secs_f64());
}
