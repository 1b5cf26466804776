//! Whether the process that a record names lives.
//!
//! Input: the record's facts, our own, and a look at a pid. Output: a [`Verdict`] with its reason.
//! Invariant: a pure function of its input; dead only where nobody alive can be the one that is meant.
//! Never: looks at a pid of another host or namespace, takes silence or a missing fact for a death.

use super::{Identity, Owner};

/// What the system says of a pid now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// No process has it.
    Absent,
    /// A process has it, and what could be read of that.
    Present {
        /// When it started.
        started: Option<u64>,
        /// It ended and only waits to be collected.
        zombie: bool,
    },
    /// A process has it that we may not signal.
    Forbidden {
        /// When it started.
        started: Option<u64>,
    },
    /// The system does not tell.
    Untold,
}

/// Whether the process lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Something lives that is, or may be, the one that is meant.
    Alive(Alive),
    /// It is provably gone.
    Dead {
        /// What proves it.
        why: Death,
        /// Whether the record itself names host, boot and namespace. Where it is only a pid, that it was meant on this host is
        /// an assumption, and a caller should be slower to act.
        by_record: bool,
    },
    /// Nothing proves either.
    Unknown(Doubt),
}

/// Why a process counts as alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alive {
    /// Its pid is at work, and nothing says that it is another process.
    Running,
    /// Its pid is at work and belongs to another user (EPERM).
    OtherUser,
}

/// What proves a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// No process has the pid.
    NoSuchPid,
    /// A process that started later has the pid.
    PidTakenAgain,
    /// It ended and only waits to be collected.
    Zombie,
    /// This host was booted since.
    OtherBoot,
}

/// Why nothing can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The record has no pid, or one that is no positive integer.
    NoPid,
    /// It ran on another host.
    OtherHost,
    /// It ran in another pid namespace, such as another container.
    OtherNamespace,
    /// The system does not tell.
    Untold,
}

impl Verdict {
    /// The reason in a few words that complete "the owner ...".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Alive(Alive::Running) => "is alive",
            Self::Alive(Alive::OtherUser) => "is alive, of another user",
            Self::Dead { why: Death::NoSuchPid, .. } => "is dead: no process has its pid",
            Self::Dead { why: Death::PidTakenAgain, .. } => {
                "is dead: its pid belongs to a process that started later"
            }
            Self::Dead { why: Death::Zombie, .. } => "is dead: only its exit status is left",
            Self::Dead { why: Death::OtherBoot, .. } => "is dead: this host was booted since",
            Self::Unknown(Doubt::NoPid) => {
                "names no pid that is a positive integer, so nothing can be said of it"
            }
            Self::Unknown(Doubt::OtherHost) => "ran on another host, so nothing can be said of it from here",
            Self::Unknown(Doubt::OtherNamespace) => {
                "ran in another pid namespace (another container), so nothing can be said of it from here"
            }
            Self::Unknown(Doubt::Untold) => "has a pid of which the system tells nothing",
        }
    }
}

/// Judges `owner` from `here`; `look` is asked at most once, and only of a pid that means the same process here.
pub fn judge(owner: &Owner, here: &Identity, look: impl FnOnce(i32) -> Seen) -> Verdict {
    let Some(pid) = owner.pid else { return Verdict::Unknown(Doubt::NoPid) };
    if differ(owner.host_name.as_ref(), here.host_name.as_ref()) {
        return Verdict::Unknown(Doubt::OtherHost);
    }
    // Before the boot: the name of a container is no proof of the host that it ran on.
    if differ(owner.pid_namespace.as_ref(), here.pid_namespace.as_ref()) {
        return Verdict::Unknown(Doubt::OtherNamespace);
    }
    let names_host = owner.host_name.is_some() && owner.boot_id.is_some();
    let by_record = names_host && (owner.pid_namespace.is_some() || here.pid_namespace.is_none());
    let dead = |why| Verdict::Dead { why, by_record };
    if differ(owner.boot_id.as_ref(), here.boot_id.as_ref()) {
        // A boot id without a host name may be of any host.
        return match owner.host_name {
            Some(_) => dead(Death::OtherBoot),
            None => Verdict::Unknown(Doubt::OtherHost),
        };
    }
    let same_boot = owner.boot_id.is_some() && owner.boot_id == here.boot_id;
    let is_later = |started: Option<u64>| {
        let counted_alike = owner.time_namespace == here.time_namespace;
        same_boot
            && counted_alike
            && matches!((owner.process_start_time, started), (Some(recorded), Some(seen)) if seen > recorded)
    };
    match look(pid) {
        Seen::Absent => dead(Death::NoSuchPid),
        Seen::Present { started, .. } | Seen::Forbidden { started } if is_later(started) => {
            dead(Death::PidTakenAgain)
        }
        Seen::Present { zombie: true, .. } => dead(Death::Zombie),
        Seen::Present { zombie: false, .. } => Verdict::Alive(Alive::Running),
        Seen::Forbidden { .. } => Verdict::Alive(Alive::OtherUser),
        Seen::Untold => Verdict::Unknown(Doubt::Untold),
    }
}

/// Whether both are known and not the same.
fn differ(one: Option<&String>, other: Option<&String>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

#[cfg(test)]
mod tests {
    use super::{Alive, Death, Doubt, Seen, Verdict, judge};
    use crate::process::{Identity, Owner};

    fn here() -> Identity {
        Identity {
            pid: 10,
            host_name: Some("host".to_owned()),
            boot_id: Some("boot".to_owned()),
            pid_namespace: Some("pid:[1]".to_owned()),
            time_namespace: Some("time:[1]".to_owned()),
            process_start_time: Some(50),
        }
    }

    /// Another process of this boot, started at 100.
    fn owner() -> Owner {
        Owner { pid: Some(20), process_start_time: Some(100), ..here().into() }
    }

    fn check(owner: &Owner, seen: Seen, expected: Verdict) {
        let verdict = judge(owner, &here(), |pid| {
            assert_eq!(Some(pid), owner.pid);
            seen
        });
        assert_eq!(verdict, expected, "{owner:?} {seen:?}");
    }

    fn never_looked_at(owner: &Owner, expected: Verdict) {
        assert_eq!(judge(owner, &here(), |_| panic!("probed: {owner:?}")), expected);
    }

    fn present(started: u64, zombie: bool) -> Seen {
        Seen::Present { started: Some(started), zombie }
    }

    #[test]
    fn a_full_record_of_this_boot() {
        let proven = |why| Verdict::Dead { why, by_record: true };
        for (seen, expected) in [
            (Seen::Absent, proven(Death::NoSuchPid)),
            (present(100, false), Verdict::Alive(Alive::Running)),
            (present(99, false), Verdict::Alive(Alive::Running)),
            (present(101, false), proven(Death::PidTakenAgain)),
            (present(100, true), proven(Death::Zombie)),
            (present(101, true), proven(Death::PidTakenAgain)),
            (Seen::Present { started: None, zombie: false }, Verdict::Alive(Alive::Running)),
            (Seen::Forbidden { started: Some(100) }, Verdict::Alive(Alive::OtherUser)),
            (Seen::Forbidden { started: None }, Verdict::Alive(Alive::OtherUser)),
            (Seen::Forbidden { started: Some(101) }, proven(Death::PidTakenAgain)),
            (Seen::Untold, Verdict::Unknown(Doubt::Untold)),
        ] {
            check(&owner(), seen, expected);
        }
    }

    #[test]
    fn elsewhere_is_never_provably_dead() {
        let other = |text: &str| Some(text.to_owned());
        never_looked_at(
            &Owner { host_name: other("other"), boot_id: other("b2"), ..owner() },
            Verdict::Unknown(Doubt::OtherHost),
        );
        never_looked_at(
            &Owner { pid_namespace: other("pid:[2]"), ..owner() },
            Verdict::Unknown(Doubt::OtherNamespace),
        );
        never_looked_at(
            &Owner { pid_namespace: other("pid:[2]"), boot_id: other("b2"), ..owner() },
            Verdict::Unknown(Doubt::OtherNamespace),
        );
        never_looked_at(
            &Owner { host_name: None, boot_id: other("b2"), ..owner() },
            Verdict::Unknown(Doubt::OtherHost),
        );
    }

    #[test]
    fn another_boot_of_this_host_is_dead() {
        never_looked_at(
            &Owner { boot_id: Some("b2".to_owned()), ..owner() },
            Verdict::Dead { why: Death::OtherBoot, by_record: true },
        );
    }

    #[test]
    fn a_record_without_pid_is_not_probed() {
        never_looked_at(&Owner { pid: None, ..owner() }, Verdict::Unknown(Doubt::NoPid));
        never_looked_at(
            &Owner { pid: None, boot_id: Some("b2".to_owned()), ..owner() },
            Verdict::Unknown(Doubt::NoPid),
        );
    }

    #[test]
    fn a_pid_alone_is_judged_on_this_host_and_proves_less() {
        let bare = Owner { pid: Some(20), ..Owner::default() };
        check(&bare, Seen::Absent, Verdict::Dead { why: Death::NoSuchPid, by_record: false });
        check(&bare, present(1, true), Verdict::Dead { why: Death::Zombie, by_record: false });
        check(&bare, present(1_000, false), Verdict::Alive(Alive::Running));
    }

    #[test]
    fn start_times_count_only_where_they_are_counted_alike() {
        let elsewhen = Owner { time_namespace: Some("time:[2]".to_owned()), ..owner() };
        check(&elsewhen, present(101, false), Verdict::Alive(Alive::Running));
        let of_no_boot = Owner { boot_id: None, ..owner() };
        check(&of_no_boot, present(101, false), Verdict::Alive(Alive::Running));
        check(&of_no_boot, Seen::Absent, Verdict::Dead { why: Death::NoSuchPid, by_record: false });
        let of_no_namespace = Owner { pid_namespace: None, ..owner() };
        check(&of_no_namespace, Seen::Absent, Verdict::Dead { why: Death::NoSuchPid, by_record: false });
    }
}
