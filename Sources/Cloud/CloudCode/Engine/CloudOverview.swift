public import JSON

extension CloudEngine {
    /// Functions, triggers and jobs with their call statistics and validators, and the condition of the hosts.
    public var overview: JSONObject {
        let (entries, hosts) = inventory
        var lists: [Name: [(order: String, JSONObject)]] = ["functions": [], "triggers": [], "jobs": []]
        for (target, entry) in entries {
            var item = callCounts.json(of: target)
            item["host"] = .string("\(entry.kind.measured)")
            item["validator"] = entry.validator.map { .object($0.overview) }
            switch target {
            case .function(let name):
                item["name"] = .string(name.text)
                lists["functions"]?.append((name.text, item))
            case .job(let name):
                item["name"] = .string(name.text)
                item["isExclusive"] = .bool(entry.isExclusive)
                lists["jobs"]?.append((name.text, item))
            case .trigger(let event, let className):
                item["event"] = .string(event.rawValue)
                item["className"] = .string(className.text)
                lists["triggers"]?.append(("\(className.text) \(event.rawValue)", item))
            }
        }
        var overview: JSONObject = [:]
        for (name, list) in lists {
            overview[name] = .array(list.sorted { $0.order < $1.order }.map { .object($0.1) })
        }
        let hasWebhooks = entries.contains { $0.value.kind == .webhooks }
        overview["hosts"] = .array(
            hosts.filter { $0.kind != .webhooks || hasWebhooks }.map { host in
                .object(host.condition.merging(["kind": .string("\(host.kind.measured)")]) { $1 })
            })
        return overview
    }
}

extension CloudValidator {
    fileprivate var overview: JSONObject {
        var checks: JSONObject = [:]
        for (name, isSet) in [
            ("requireUser", requireUser), ("requireMaster", requireMaster), ("validateMasterKey", validateMasterKey),
            ("skipWithMasterKey", skipWithMasterKey), ("rateLimit", rateLimit != nil), ("code", asksHost),
        ] as [(Name, Bool)] where isSet {
            checks[name] = true
        }
        func list(_ names: [Name]) -> JSONValue { .array(names.map { .string($0.text) }) }
        var all = requireAllUserRoles
        if requireAnyUserRoles.count == 1 {
            checks["requireAnyUserRoles"] = list(requireAnyUserRoles[0])
        } else if !requireAnyUserRoles.isEmpty {
            all = (all ?? []) + requireAnyUserRoles.map { Name($0.map(\.text).joined(separator: " or ")) }
        }
        checks["requireAllUserRoles"] = all.map(list)
        if !requireUserKeys.isEmpty { checks["requireUserKeys"] = list(requireUserKeys.map(\.name)) }
        if !fields.isEmpty { checks["fields"] = .array(fields.map { .object($0.overview) }) }
        return checks
    }
}

extension CloudValidator.FieldRule {
    fileprivate var overview: JSONObject {
        var rule: JSONObject = ["name": .string(name.text)]
        if required { rule["required"] = true }
        if constant { rule["constant"] = true }
        rule["type"] = type.map { .string($0) }
        rule["default"] = defaultValue
        rule["options"] = options.map { .array($0) }
        return rule
    }
}
