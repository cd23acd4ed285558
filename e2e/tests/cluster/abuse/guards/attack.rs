//! A request that a guard has to refuse.

use crate::support::cluster::check;
use crate::support::control_plane::tokens::RequestClient;
use serde_json::Value;

/// A request that has to be refused.
#[derive(Clone)]
pub(crate) struct Attack {
    pub(crate) thief: RequestClient,
    pub(crate) arguments: Vec<&'static str>,
    pub(crate) input: String,
    /// Whether the thief's role does not allow it.
    pub(crate) by_role: bool,
    /// Whether a policy does not.
    pub(crate) by_policy: bool,
}

impl Attack {
    /// A server-side apply, which asks for nothing but `patch` (and `create` where there is no
    /// object).
    pub(crate) fn apply(thief: RequestClient, part: &'static str, object: &Value) -> Self {
        let mut arguments =
            vec!["apply", "--server-side", "--force-conflicts", "--field-manager=thief", "--validate=false"];
        arguments.extend((!part.is_empty()).then_some(part));
        arguments.extend(["--dry-run=server", "-f", "-"]);
        Self { thief, arguments, input: object.to_string(), by_role: false, by_policy: false }
    }

    pub(crate) fn words(thief: RequestClient, words: &'static str) -> Self {
        let arguments = words.split(' ').collect();
        Self { thief, arguments, input: String::new(), by_role: false, by_policy: false }
    }

    pub(crate) fn role(self) -> Self {
        Self { by_role: true, ..self }
    }

    pub(crate) fn policy(self) -> Self {
        Self { by_policy: true, ..self }
    }

    fn tell(&self) -> String {
        format!("{:?}: kubectl {} {}", self.thief, self.arguments.join(" "), self.input)
    }

    /// Tries it and complains if it does not go as it should.
    pub(crate) fn try_it(&self, is_refused: bool) -> Result<(), String> {
        match self.thief.kubectl(&self.arguments, &self.input) {
            Ok(_) => check(!is_refused, format!("{} was carried out", self.tell())),
            Err(answer) => {
                let says_so = answer.contains("Forbidden") || answer.contains("forbidden");
                check(is_refused && says_so, format!("{}: {answer}", self.tell()))
            }
        }
    }
}
