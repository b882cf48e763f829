import Platform

/// The folder and version of the PostgreSQL programs.
package struct PostgresBinaries: Sendable {
    let folder: String
    let version: Int

    private static let needed = ["initdb", "pg_ctl", "postgres", "psql", "createdb"]

    package func path(_ name: String) -> String { folder + "/" + name }

    /// Finds the newest installed version, on the PATH or in the folders of Debian or Homebrew.
    ///
    /// - Throws: `LocalPostgres.Failure` if version 13 or later isn't installed.
    package static func newest() async throws -> PostgresBinaries {
        let files = FileManager.default
        var folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        for parent in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
            let names = (try? files.contentsOfDirectory(atPath: parent)) ?? []
            folders += names.filter { parent.hasSuffix("postgresql") || $0.hasPrefix("postgresql") }
                .map { "\(parent)/\($0)/bin" }
        }
        var newest: PostgresBinaries?
        // Some folders contain links to only a few of the programs.
        for folder in folders where needed.allSatisfy({ files.isExecutableFile(atPath: "\(folder)/\($0)") }) {
            guard let version = await version(of: folder), newest.map({ $0.version < version }) ?? true else {
                continue
            }
            newest = PostgresBinaries(folder: folder, version: version)
        }
        guard let newest, newest.version >= 13 else {
            throw LocalPostgres.Failure(
                "PostgreSQL 13 or later was not found. Install the package postgresql, or set databaseURI")
        }
        return newest
    }

    /// Parses 15 from `initdb (PostgreSQL) 15.8 (Debian …)`.
    private static func version(of folder: String) async -> Int? {
        let words = (await Command.output([folder + "/initdb", "--version"]) ?? "").split(separator: " ")
        guard words.count >= 3 else { return nil }
        return Int(words[2].prefix { $0.isNumber })
    }
}
