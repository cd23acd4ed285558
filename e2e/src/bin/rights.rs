//! `rights LOG...`, with the audit logs of all test beds in which the cluster tests ran: fails when
//! the roles of `config/rbac`, of resource claims, of hot plug, of engines and of policies grant
//! more or less than the tests used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use usnet_e2e::rights::{self, Differences, RolesError, UsageError};
use usnet_e2e::testbed::progress;

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(
        "no audit log is given: pass those of the test beds in which the cluster tests ran, as e2e/scripts/cluster-tests does"
    )]
    NoLog,
    #[error("cannot read {0}")]
    Log(PathBuf, #[source] std::io::Error),
    #[error(transparent)]
    Roles(#[from] RolesError),
    #[error(transparent)]
    Usage(#[from] UsageError),
}

fn main() -> ExitCode {
    match differences() {
        Ok(Differences { unused, missing }) if unused.is_empty() && missing.is_empty() => {
            progress::line("rights: each right of config/rbac was used, and none was missing");
            ExitCode::SUCCESS
        }
        Ok(Differences { unused, missing }) => {
            for right in missing {
                progress::line(&format!(
                    "rights: missing: {right}: add it to config/rbac, or do not make this request"
                ));
            }
            for right in unused {
                progress::line(&format!(
                    "rights: unused: {right}: remove it from config/rbac, or add a test that needs it"
                ));
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            progress::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn differences() -> Result<Differences, Error> {
    let logs: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if logs.is_empty() {
        return Err(Error::NoLog);
    }
    let read = |path: PathBuf| std::fs::read_to_string(&path).map_err(|source| Error::Log(path, source));
    let log: String = logs.into_iter().map(read).collect::<Result<_, _>>()?;
    let mut roles = BTreeSet::new();
    for folder in
        ["rbac", "components/resource-claims", "components/hot-plug", "components/engines", "components/policies"]
    {
        roles.extend(rights::grants(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../config").join(folder))?);
    }
    // Kubernetes checks some verbs within another request, which the audit log does not show.
    roles.retain(|right| !right.verb.contains(':'));
    Ok(rights::compare(&roles, &rights::usage(&log)?))
}
