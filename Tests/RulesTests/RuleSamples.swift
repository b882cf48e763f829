import JSON
import ParseModel
import Rules
import ServerConfiguration

/// Pairs of look-alike names. Swift considers them equal, but their bytes differ.
enum LookAlike {
    static let kelvin = (letter: "K", sign: "\u{212A}")
    /// An e with an acute accent, composed and decomposed.
    static let acute = (composed: "\u{E9}", decomposed: "e\u{301}")
}

func deployment(_ options: JSONObject = [:]) throws -> Configuration {
    var file: JSONObject = ["appId": "app", "masterKey": "master"]
    for (name, value) in options { file[name] = value }
    return try Configuration.load(file: file.serialized(), environment: [:], flags: []).configuration
}

extension Caller {
    static func user(_ id: String, roles: [Name] = []) -> Caller {
        Caller(user: SessionUser(id: id, sessionId: "s", token: "r:t", roles: roles, isAnonymous: false))
    }

    static let nobody = Caller()
    static let master = Caller(power: .master)
    static let readOnlyMaster = Caller(power: .readOnlyMaster)
    static let maintenance = Caller(power: .maintenance)
}

extension ClassSchema {
    /// A class with permissions in the format of the schemas API.
    static func with(
        _ permissions: JSONObject?, name: String = "Song",
        fields: KeyValuePairs<Name, FieldType> = ["title": .string, "owner": .pointer("_User"), "editors": .array]
    ) -> ClassSchema {
        var schema = ClassSchema(name: name, permissions: permissions.map { ClassLevelPermissions(json: $0) })
        for (name, type) in fields { schema.fields[name] = Field(type) }
        return schema
    }
}
