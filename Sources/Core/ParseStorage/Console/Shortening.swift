import JSON
import ParseModel
import Postgres

/// Replaces long values with their type, size and beginning while objects are read, so that listing objects is fast
/// whatever they contain.
struct Shortening: Sendable {
    /// The size in bytes above which a value is shortened.
    let limit: Int
    /// Fields that are never shortened, for example because an access rule needs them.
    var whole: Set<Name> = []

    /// The maximum value of `limit`, in bytes.
    private static let greatest = 1 << 20

    init(limit: Int, whole: Set<Name> = []) {
        self.limit = min(max(limit, 1), Self.greatest)
        self.whole = whole
    }

    /// Returns the SQL that replaces a column, as jsonb, or nil for a column that is read whole.
    func expression(_ name: Name, _ type: FieldType) -> String? {
        guard !whole.contains(name), SystemClass.commonFields[name] == nil else { return nil }
        let column = SQL.identifier(name.text)
        switch type {
        case .string:
            return "CASE WHEN octet_length(\(column)) > \(limit) THEN jsonb_build_object('__type', 'Shortened', "
                + "'type', 'String', 'bytes', octet_length(\(column)), 'start', left(\(column), \(limit))) "
                + "ELSE to_jsonb(\(column)) END"
        case .array, .object, .bytes:
            // A value that is large in storage is even longer as text, so it isn't converted to text to measure it.
            return "CASE WHEN pg_column_size(\(column)) > \(max(2_048, 8 * limit)) OR octet_length(\(column)::text) > "
                + "\(limit) THEN roost_shortened(\(column), '\(type.name)', \(limit)) ELSE \(column) END"
        default: return nil
        }
    }
}

extension ReadAccess {
    /// The pointer fields that owner rules check.
    var fieldsOfRules: Set<Name> { Set(ownerRules.compactMap { $0.field.map { Name($0) } }) }
}
