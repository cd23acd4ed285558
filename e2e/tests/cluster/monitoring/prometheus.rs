//! Prometheus of Debian, on a node.

use crate::support::cluster::{eventually, try_run};
use crate::support::pods::NODE;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::SystemTime;

/// Of the node's own loopback device.
const ADDRESS: &str = "127.0.0.1:9090";
/// The shortest time in which busy cores scrape all.
const SCRAPE_INTERVAL: &str = "2s";
const EVALUATION_INTERVAL: &str = "1s";

/// A running Prometheus, which ends when this is dropped.
pub(super) struct Prometheus {
    program: Child,
    started: SystemTime,
}

/// An alert that is pending or fires.
#[derive(Debug)]
pub(super) struct Alert {
    labels: Value,
    pub(super) is_firing: bool,
}

impl Alert {
    /// Whether it has this name and these labels.
    pub(super) fn is(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.labels["alertname"] == name && labels.iter().all(|(label, value)| self.labels[label] == *value)
    }
}

impl Prometheus {
    /// Starts it with its files in a folder, and waits until it answers.
    pub(super) fn start(folder: &Path, scrape_configs: &[Value], rules: &Value) -> Self {
        let rules_file = folder.join("rules.yaml");
        let config = json!({
            "global": {
                "scrape_interval": SCRAPE_INTERVAL,
                "scrape_timeout": SCRAPE_INTERVAL,
                "evaluation_interval": EVALUATION_INTERVAL,
            },
            "rule_files": [rules_file],
            "scrape_configs": scrape_configs,
        });
        fs::write(&rules_file, rules.to_string()).unwrap();
        let config_file = folder.join("prometheus.yaml");
        fs::write(&config_file, config.to_string()).unwrap();
        let data = tempfile::tempdir_in(folder).unwrap().keep();
        let log = fs::File::create(folder.join("prometheus.log")).unwrap();
        let program = Command::new("on-node")
            .args([NODE, "prometheus", "--log.level=warn"])
            .arg(format!("--config.file={}", config_file.display()))
            .arg(format!("--storage.tsdb.path={}", data.display()))
            .arg(format!("--web.listen-address={ADDRESS}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let prometheus = Self { program, started: SystemTime::now() };
        eventually("Prometheus answers", || prometheus.get("query", &[("query", "1")]));
        prometheus
    }

    fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value, String> {
        let url = format!("http://{ADDRESS}/api/v1/{path}");
        let mut words = vec![NODE, "curl", "--silent", "--show-error", "--max-time", "10", "--get", &url];
        let parameters: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        parameters.iter().for_each(|parameter| words.extend(["--data-urlencode", parameter.as_str()]));
        let answer = try_run("on-node", &words, "")?;
        let mut answer: Value = serde_json::from_str(&answer).map_err(|error| format!("{error}: {answer}"))?;
        if answer["status"] == "success" { Ok(answer["data"].take()) } else { Err(answer.to_string()) }
    }

    /// The value of a query with one result.
    pub(super) fn value(&self, query: &str) -> Result<f64, String> {
        let found = self.get("query", &[("query", query)])?;
        let value = found["result"][0]["value"][1].as_str().ok_or_else(|| format!("{query}: {found}"))?;
        value.parse().map_err(|_| value.to_owned())
    }

    /// The number of series that a query has had since the start, or why it is no query.
    pub(super) fn series(&self, query: &str) -> Result<usize, String> {
        let seconds =
            |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs().to_string();
        let range = [("start", &*seconds(self.started)), ("end", &*seconds(SystemTime::now())), ("step", "1")];
        let found = self.get("query_range", &[&[("query", query)], &range[..]].concat())?;
        Ok(found["result"].as_array().map_or(0, Vec::len))
    }

    /// All alerts that are pending or fire.
    pub(super) fn alerts(&self) -> Result<Vec<Alert>, String> {
        let mut found = self.get("alerts", &[])?;
        let alerts = found["alerts"].as_array_mut().ok_or("no alerts")?;
        let alert = |alert: &mut Value| Alert { is_firing: alert["state"] == "firing", labels: alert["labels"].take() };
        Ok(alerts.iter_mut().map(alert).collect())
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ended = self.program.kill().and_then(|()| self.program.wait());
    }
}
