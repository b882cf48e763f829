import Encoding
import JSON

extension Configuration {
    /// The admin keys and the audit log.
    public struct Audit: Sendable {
        /// The SHA-256 hashes of additional master keys, by owner.
        public var adminKeys: [String: [UInt8]] = [:]
        /// The kinds of changes to record if they are made with the master key, an admin key or the maintenance key.
        public var events: Set<AuditEvent> = []
    }

    /// A kind of change that the audit log records.
    public enum AuditEvent: String, CaseIterable, Sendable {
        /// Changes to objects, and other changes without a kind. Function calls and log-ins aren't recorded.
        case write
        /// Changes to classes and their permissions.
        case schema
        case config, hooks, role, file

        /// - Throws: `ConfigurationError` for an unknown kind.
        static func read(_ value: JSONValue, _ name: String) throws(ConfigurationError) -> Set<AuditEvent> {
            var events: Set<AuditEvent> = []
            for word in value.arrayValue?.compactMap(\.stringValue) ?? [] {
                guard let event = AuditEvent(rawValue: word) else {
                    throw .invalid(name, "a list of \(allCases.map(\.rawValue).joined(separator: ", "))")
                }
                events.insert(event)
            }
            return events
        }
    }

    /// Reads the option `adminKeys`.
    ///
    /// - Throws: `ConfigurationError` for a value that isn't a SHA-256, and for reserved names.
    static func adminKeys(_ value: JSONValue) throws(ConfigurationError) -> [String: [UInt8]] {
        var keys: [String: [UInt8]] = [:]
        for (name, digest) in value.objectValue ?? [:] {
            guard let bytes = [UInt8](hexadecimal: digest.stringValue ?? ""), bytes.count == 32 else {
                throw ConfigurationError("adminKeys.\(name) must be the SHA-256 of a key in 64 hexadecimal digits")
            }
            guard name != "masterKey", name != "maintenanceKey" else {
                throw ConfigurationError("adminKeys.\(name): the audit log already uses this name. Choose another name")
            }
            keys[name.text] = bytes
        }
        return keys
    }
}
