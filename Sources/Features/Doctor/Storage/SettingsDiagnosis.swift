import ParseStorage
import Postgres

/// Checks the settings of PostgreSQL. Runs no queries.
package enum SettingsDiagnosis {
    private static let megabyte = 1 << 20

    package static func findings(_ facts: DatabaseFacts) -> [Finding] {
        var findings: [Finding] = []
        func add(_ severity: Finding.Severity, _ name: String, _ words: String, _ advice: String?) {
            findings.append(Finding(.setting, severity, name, words, advice: advice))
        }
        if facts.version > 0, facts.version < 130_000 {
            add(.error, "server_version", "PostgreSQL is older than 13. Roost requires 13 or later", nil)
        }
        for (name, severity, words) in mustBeOn where facts.settings[name] == "off" {
            add(severity, name, words, "ALTER SYSTEM SET \(name) = on")
        }
        for name in ["zero_damaged_pages", "ignore_checksum_failure"] where facts.settings[name] == "on" {
            add(.error, name, "damaged pages are silently ignored", "ALTER SYSTEM RESET \(name)")
        }
        if facts.settings["synchronous_commit"] == "off" {
            add(
                .warning, "synchronous_commit",
                "a crash of the machine loses the last half second of acknowledged writes",
                "ALTER SYSTEM SET synchronous_commit = on")
        }
        if let encoding = facts.settings["server_encoding"], encoding != "UTF8" {
            add(.error, "server_encoding", "the encoding is \(encoding), but Roost requires UTF8", nil)
        }
        if let buffers = facts.settings["shared_buffers"].flatMap(Int.init) {
            let isSmall = buffers < 64 * megabyte
            if isSmall || buffers <= 128 * megabyte && facts.size > 8 * buffers {
                add(
                    .warning, "shared_buffers",
                    "\(buffers / megabyte) MB for a database of \(facts.size / megabyte) MB: a quarter of the "
                        + "memory of a dedicated machine is usual",
                    "ALTER SYSTEM SET shared_buffers = '1GB'")
            }
        }
        for table in facts.unvacuumed {
            findings.append(
                Finding(
                    .setting, .warning, "\(table): autovacuum_enabled",
                    "autovacuum is off for this table, so it only grows",
                    remedy: .init(
                        words: "turn on autovacuum for \(table)",
                        statements: ["ALTER TABLE \(SQL.identifier(table)) RESET (autovacuum_enabled)"])))
        }
        return findings
    }

    private static let mustBeOn: [(String, Finding.Severity, String)] = [
        ("fsync", .error, "a crash of the machine damages the database"),
        ("full_page_writes", .error, "a crash of the machine damages pages that are being written"),
        ("autovacuum", .error, "tables only grow, and PostgreSQL eventually rejects writes"),
        ("track_counts", .error, "autovacuum doesn't notice which tables changed"),
    ]
}
