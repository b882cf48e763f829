import JSON

/// Options that only mail adapters have.
extension AdapterOptions {
    /// Returns the sender's address, with or without a name, from the first option that is set.
    ///
    /// - Throws: `ConfigurationError` if no option is set, or if the value contains no `@`.
    mutating func sender(_ keys: Name...) throws(ConfigurationError) -> String {
        var found: (key: Name, text: String)?
        for key in keys {
            if let text = try text(key), found == nil { found = (key, text) }
        }
        guard let found else { throw ConfigurationError("option \(path).\(keys.first ?? "") is missing") }
        guard found.text.utf8.contains(UInt8(ascii: "@")) else {
            throw ConfigurationError("option \(path).\(found.key) is not an email address")
        }
        return found.text
    }

    /// Returns a list of user fields for emails, which is empty if the option is missing.
    mutating func columns(_ key: Name) throws(ConfigurationError) -> [Name] {
        guard let value = value(key) else { return [] }
        guard let list = value.arrayValue, list.count <= 50, list.allSatisfy({ $0.stringValue != nil }) else {
            throw ConfigurationError("option \(path).\(key) must be a list of at most 50 field names")
        }
        for name in value.names { try Self.checkColumn(name, key) }
        return value.names
    }

    /// Rejects internal fields and credentials, which emails must not contain.
    static func checkColumn(_ name: Name, _ key: Name) throws(ConfigurationError) {
        if name.isEmpty || name.hasPrefix("_") || ["password", "authData", "sessionToken"].contains(name) {
            throw ConfigurationError("option emailAdapter.options.\(key): emails can't contain the field \(name)")
        }
    }
}
