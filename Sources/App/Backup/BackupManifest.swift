import JSON
import ParseModel

/// What a backup says of itself, in its first entry.
struct BackupManifest: Sendable, Equatable {
    /// The name of the entry.
    static let path = "roost-backup.json"
    /// The version of the form that is written and read.
    static let version = 1

    var appId: String
    var created: ParseDate
    /// The major version of PostgreSQL whose files it holds.
    var postgresVersion: Int

    init(appId: String, created: ParseDate, postgresVersion: Int) {
        self.appId = appId
        self.created = created
        self.postgresVersion = postgresVersion
    }

    /// Reads the entry; nil when it is none, or of a form that is not known.
    init?(json: JSONValue) {
        guard json["format"] == "roost-backup", json["version"] == .number(Double(Self.version)),
            let created = json["createdAt"]?.stringValue.flatMap({ ParseDate(iso: $0) }),
            let version = json["postgresVersion"]?.numberValue.flatMap({ Int(exactly: $0) })
        else { return nil }
        self.init(appId: json["appId"]?.stringValue ?? "", created: created, postgresVersion: version)
    }

    /// The entry.
    var json: JSONObject {
        [
            "format": "roost-backup", "version": .number(Double(Self.version)), "createdAt": .string(created.iso),
            "roostVersion": .string(Version.text), "appId": .string(appId),
            "postgresVersion": .number(Double(postgresVersion)),
        ]
    }
}
