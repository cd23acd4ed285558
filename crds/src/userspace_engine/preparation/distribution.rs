//! Distributions of Linux, by how they set boot parameters.

/// How boot parameters are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    RedHat,
    Debian,
    OsTree,
    OpenShift,
    /// In a way that is not known here.
    Other,
}

/// The words of [`super::NodeFacts::os_image`], in small letters, by which it is recognized. The
/// first that fits is taken.
const WORDS: [(&str, Distribution); 14] = [
    ("red hat enterprise linux coreos", Distribution::OpenShift),
    ("centos stream coreos", Distribution::OpenShift),
    ("coreos", Distribution::OsTree),
    ("silverblue", Distribution::OsTree),
    ("fedora iot", Distribution::OsTree),
    ("red hat", Distribution::RedHat),
    ("rocky", Distribution::RedHat),
    ("almalinux", Distribution::RedHat),
    ("oracle linux", Distribution::RedHat),
    ("centos", Distribution::RedHat),
    ("fedora", Distribution::RedHat),
    ("debian", Distribution::Debian),
    ("ubuntu", Distribution::Debian),
    ("linux mint", Distribution::Debian),
];

impl Distribution {
    /// Those whose commands are on the page of engines.
    pub const KNOWN: [Self; 4] = [Self::RedHat, Self::Debian, Self::OsTree, Self::OpenShift];

    /// The one of a node, or the common ones where it is not known.
    pub fn candidates(os_image: &str) -> &'static [Self] {
        let text = os_image.to_lowercase();
        let found = WORDS.iter().find(|(word, _)| text.contains(word)).map(|(_, distribution)| distribution);
        match found {
            Some(distribution) => std::slice::from_ref(distribution),
            None if os_image.is_empty() => &[Self::RedHat, Self::Debian, Self::OsTree],
            None => &[Self::Other],
        }
    }

    /// Its name: that of the node if it is known.
    pub fn name(self, os_image: &str) -> &str {
        match self {
            _ if !os_image.is_empty() => os_image,
            Self::RedHat => "RHEL, Rocky Linux, AlmaLinux, Oracle Linux, CentOS, Fedora",
            Self::Debian => "Debian, Ubuntu",
            Self::OsTree => "Fedora CoreOS and others by rpm-ostree",
            Self::OpenShift => "OpenShift",
            Self::Other => "others",
        }
    }

    /// What sets these parameters.
    pub fn lines(self, parameters: &[String]) -> Vec<String> {
        let all = parameters.join(" ");
        match self {
            // It keeps one value of each name.
            Self::RedHat if has_two_sizes(parameters) => vec![
                "# grubby keeps one size of hugepages: add these to the line options of the files in /boot/loader/entries"
                    .to_owned(),
                all,
            ],
            Self::RedHat => vec![format!("grubby --update-kernel=ALL --args=\"{all}\"")],
            Self::Debian => vec![
                format!("echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {all}\"' > /etc/default/grub.d/usnet.cfg"),
                "update-grub".to_owned(),
            ],
            Self::OsTree => {
                let options: Vec<String> = parameters.iter().map(|parameter| format!("--append={parameter}")).collect();
                vec![format!("rpm-ostree kargs {}", options.join(" "))]
            }
            Self::OpenShift => vec![
                "# kernelArguments in the spec of a MachineConfig for its pool, which reboots the nodes of the pool:"
                    .to_owned(),
                format!("kernelArguments: [{}]", parameters.join(", ")),
            ],
            Self::Other => vec!["# for its boot loader:".to_owned(), all],
        }
    }
}

fn has_two_sizes(parameters: &[String]) -> bool {
    parameters.iter().filter(|parameter| parameter.starts_with("hugepagesz=")).count() > 1
}
