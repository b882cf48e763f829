import BSON
import JSON
import ParseModel
import Postgres

struct RowMapper: Sendable {
    let plan: RowPlan

    private static let longestId = 1000
    private static let longestJoinedId = 120

    func map(_ record: SourceRecord) -> MappedRecord {
        switch record {
        case .mongo(let document): return mongo(document)
        case .rest(let object): return rest(object)
        case .unreadable(let reason):
            var losses = Losses()
            losses.add(nil, reason, .null)
            return .refused(id: nil, losses)
        }
    }

    // MARK: MongoDB's format

    private func mongo(_ document: BSONDocument) -> MappedRecord {
        var row = Row(plan)
        for member in document.members {
            switch plan.route(member.key) {
            case .id(let place): row.setId(place, MongoFields.id(member.value))
            case .field(let place, let type):
                if let value = MongoFields.parameter(member.value, type, member.key.text, &row.losses) {
                    row.values[place] = value
                }
            case .principals(let place):
                var texts = member.value.arrayValue?.compactMap(\.stringValue)
                if texts == nil, member.value != .null, member.value != .undefined {
                    // Unreadable permissions grant no access.
                    row.losses.add(
                        member.key.text, "permissions that aren't a list: only the master key has access",
                        MongoValues.reported(member.value))
                    texts = []
                }
                row.setPrincipals(place, member.key, texts)
            case .acl:
                if member.key == "_acl" { row.acl = MongoFields.acl(member.value) }
            case .authData:
                guard let provider = member.key.dropping(prefix: "_auth_data_") else { break }
                row.setAuthData(Name(provider), MongoValues.json(member.value, member.key.text, &row.losses))
            case .legacySession: if member.value != .null { row.losses.hasLegacySession = true }
            case .nothing: break
            case nil: row.miss(member.key, MongoValues.reported(member.value))
            }
        }
        return row.finish { MongoValues.reported(.document(document)) }
    }

    // MARK: The REST format

    private func rest(_ object: JSONObject) -> MappedRecord {
        var row = Row(plan)
        for (key, value) in object {
            switch plan.route(key) {
            case .id(let place): row.setId(place, RESTFields.id(value))
            case .field(let place, let type):
                if let parameter = RESTFields.parameter(value, type, key.text, &row.losses) {
                    row.values[place] = parameter
                }
            case .principals(let place): row.setPrincipals(place, key, value.isNull ? nil : value.names.texts)
            case .acl:
                guard !value.isNull else { break }
                if let acl = value.objectValue.flatMap({ try? ACL(json: $0) }) {
                    row.acl = acl
                } else {
                    row.losses.add("ACL", "an invalid ACL: only the master key has access", value)
                    row.acl = ACL()
                }
            case .authData:
                guard let provider = key.dropping(prefix: "_auth_data_") else { break }
                row.setAuthData(Name(provider), value)
            case .legacySession: if !value.isNull { row.losses.hasLegacySession = true }
            case .nothing: break
            case nil: row.miss(key, value)
            }
        }
        return row.finish { .object(object) }
    }

    private struct Row {
        let plan: RowPlan
        var values: [PostgresParameter]
        var losses = Losses()
        var id: String?
        var acl: ACL?
        private var authData: JSONObject?
        private var hasPrincipals = false

        init(_ plan: RowPlan) {
            self.plan = plan
            values = plan.empty
        }

        mutating func setId(_ place: Int, _ id: String?) {
            self.id = id
            if let id { values[place] = .text(id) }
        }

        mutating func setPrincipals(_ place: Int, _ key: Name, _ texts: [String]?) {
            // Set even if the list is null: the ACL is ignored if the object has this key.
            hasPrincipals = true
            guard let texts else { return }
            values[place] = .textArray(texts.map { MongoValues.text($0, key.text, &losses) })
        }

        mutating func setAuthData(_ provider: Name, _ data: JSONValue) {
            // Null means that the provider was unlinked.
            authData = authData ?? [:]
            authData?[provider] = data
        }

        mutating func miss(_ key: Name, _ value: JSONValue) {
            guard !value.isNull else { return }
            losses.add(key.text, "the class has no such field", value)
        }

        /// Returns the row, or a rejected record if an id is missing or invalid.
        mutating func finish(_ whole: () -> JSONValue) -> MappedRecord {
            if let authData, let place = plan.authData { values[place] = .jsonb(authData.serialized()) }
            if let acl, !hasPrincipals, let readers = plan.readers, let writers = plan.writers {
                values[readers] = .textArray(acl.readers.texts.map { MongoValues.text($0, "ACL", &losses) })
                values[writers] = .textArray(acl.writers.texts.map { MongoValues.text($0, "ACL", &losses) })
            }
            for key in plan.table.key {
                guard let place = plan.table.columns.firstIndex(where: { $0.name == key }) else { continue }
                if let reason = Self.fault(
                    values[place], longest: plan.table.key.count > 1 ? longestJoinedId : longestId)
                {
                    losses.add(key.text, reason, whole())
                    return .refused(id: id, losses)
                }
            }
            return .row(id: id ?? pair, values, losses)
        }

        private var pair: String? {
            guard plan.table.key.count == 2, case .text(let owner) = values[0], case .text(let related) = values[1]
            else { return nil }
            return "\(owner):\(related)"
        }

        private static func fault(_ value: PostgresParameter, longest: Int) -> String? {
            guard case .text(let text) = value, !text.isEmpty else { return "an object without an id: it is skipped" }
            if text.utf8.contains(0) { return "an id with a NUL character: the object is skipped" }
            return text.utf8.count > longest ? "an id of more than \(longest) bytes: the object is skipped" : nil
        }
    }
}
