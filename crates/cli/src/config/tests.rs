//! What settings are read as, and how they are refused.

use super::*;

#[test]
fn what_is_shown_reads_back_as_the_same() {
    let text = "[concurrency]\ndefault = 2\n[concurrency.models]\n\"acme/large\" = 1\n\
                [policy]\npermissions = [\"inbox:bot\", \"opencode:*\"]\n[limits]\nstale = \"90s\"\n[storage]\nspool = \"1MiB\"\nresult = \"64KiB\"\n\
                [presets.quick]\nmodel = \"acme/small\"\ntimeout = \"5m\"\nbudget = { calls = 3 }\n\
                limits = { stale = \"2m\", attempts = 1 }\n";
    let config = Config::parse(text).unwrap();
    assert_eq!((config.limits.default, config.limits.quiet_ms), (2, 90_000));
    assert_eq!((config.spool, config.result), (1 << 20, 64 << 10));
    assert_eq!(config.presets["quick"].limits.stale.as_deref(), Some("2m"));
    let json = config.json().unwrap();
    assert_eq!((&json["limits"]["stale"], &json["limits"]["depth"]), (&"90s".into(), &3.into()));
    assert_eq!(json["concurrency"]["models"]["acme/large"], 1);
    assert_eq!(json["presets"]["quick"]["limits"]["attempts"], 1);
    assert_eq!(json["set"][0], "concurrency.default");
    assert_eq!(config.presets["quick"].model.0, ["acme/small"]);
    for config in [config, Config::default()] {
        let again = Config::parse(&config.told().unwrap()).unwrap();
        let same = Config { named: config.named.clone(), ..again };
        assert_eq!(same, config);
    }
}

#[test]
fn what_is_not_known_is_refused_with_the_nearest() {
    for (text, says, hint) in [
        ("[limit]\n", "no section \"limit\"", "did you mean \"limits\"?"),
        ("[limits]\ndept = 1\n", "no key \"limits.dept\"", "did you mean \"depth\"?"),
        ("[limits]\nstart = 30\n", "limits.start: it is not a time", "\"30s\""),
        ("[limits]\nstart = \"30\"\n", "it has no unit", "\"30s\""),
        ("[limits]\ndepth = \"x\"\n", "limits.depth: it is not a number", "whole"),
        ("[storage]\nspool = \"9\"\n", "storage.spool: it is not a size", "256MiB"),
        ("[presets.a]\nmodle = \"x/y\"\n", "\"presets.a.modle\"", "did you mean \"model\"?"),
        ("[presets.a.budget]\ncall = 1\n", "presets.a.budget.call", "\"calls\""),
        ("[storage]\nresult = \"9B\"\n", "storage.result: it is less than 1KiB", "1KiB"),
        ("[presets.a.limits]\nstal = \"1m\"\n", "presets.a.limits.stal", "\"stale\""),
        ("[presets.a.limits]\nstale = \"5\"\n", "presets.a.limits.stale", "\"30s\""),
        ("[presets.a]\ntimeout = \"5\"\n", "presets.a.timeout", "\"30s\""),
        ("[policy]\npermissions = [\"inbx:b\"]\n", "did you mean \"inbox\"?", "inbox:NAME"),
        ("[policy]\npermissions = [\"inbox:*\"]\n", "names no parent", "inbox:NAME/*"),
        ("[policy]\npermissions = \"inbox:b\"\n", "it is not a list", "[\"…\"]"),
        ("[policy]\npermision = []\n", "policy.permision", "did you mean"),
        ("[log]\nlevel = \"debgu\"\n", "log.level: there is no level", "\"debug\""),
        ("[log]\nformat = \"xml\"\n", "log.format: there is no format", "text, json"),
        ("x = 1\n", "no section \"x\"", "known: "),
        ("[limits\n", "line 1: ", "TOML"),
    ] {
        let (what, try_this) = Config::parse(text).unwrap_err();
        assert!(what.contains(says), "{text}: {what}");
        assert!(try_this.contains(hint), "{text}: {try_this}");
    }
}
