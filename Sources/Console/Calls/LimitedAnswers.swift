import Encoding
import HTTP
import JSON
internal import Operations
import Rules

/// What of an answer is shown to an operator who is limited to some classes and fields. What may be asked was judged before;
/// triggers, and the server itself, put more into answers than what was asked for.
struct LimitedAnswers {
    let limits: OperatorLimits

    /// An answer of the interface of apps, without what the operator does not know.
    ///
    /// - Parameter calls: What it answers: the calls of a batch, or one.
    /// - Throws: ``HTTPError`` for one that cannot be read.
    func shown(_ reply: Reply, to calls: [ConsoleGate.Call]) throws(HTTPError) -> Reply {
        guard case .json(let bytes) = reply.body else {
            if case .empty = reply.body { return reply }
            guard calls.allSatisfy({ $0.path.first == "files" }) else {
                throw HTTPError(status: 500, message: "The answer cannot be read.")
            }
            return reply
        }
        guard let value = try? JSONValue(parsing: bytes, maximumDepth: 1_000) else {
            throw HTTPError(status: 500, message: "The answer cannot be read.")
        }
        var reply = reply
        if case .array(let list) = value, list.count == calls.count {
            reply.body = .json(JSONValue.array(zip(list, calls).map(shown)).serialized())
        } else if calls.count == 1 {
            reply.body = .json(shown(value, to: calls[0], isRefusal: reply.status >= 400).serialized())
        } else {
            reply.body = .json(Self.refusal(value).serialized())
        }
        return reply
    }

    /// The answer to a call of a batch.
    private func shown(_ value: JSONValue, to call: ConsoleGate.Call) -> JSONValue {
        if let success = value["success"] { return ["success": shown(success, to: call, isRefusal: false)] }
        return value["error"].map { ["error": Self.refusal($0)] } ?? [:]
    }

    private func shown(_ value: JSONValue, to call: ConsoleGate.Call, isRefusal: Bool) -> JSONValue {
        guard var object = value.objectValue else { return [:] }
        if call.path.first == "schemas" {
            guard !isRefusal, let results = object["results"]?.arrayValue else {
                return isRefusal ? Self.refusal(value) : schema(object).map { .object($0) } ?? [:]
            }
            return ["results": .array(results.compactMap { schema($0.objectValue ?? [:]).map { .object($0) } })]
        }
        if call.path.first?.asciiLowercased == "files" { return value }
        guard let className = call.className.map({ Name($0) }) else { return Self.refusal(value) }
        if isRefusal {
            // Where another wrote meanwhile, the object as it is now comes with the refusal.
            var refusal = Self.refusal(value).objectValue ?? [:]
            if let now = object["object"]?.objectValue { refusal["object"] = .object(self.object(now, of: className)) }
            return .object(refusal)
        }
        // An object can have a field of that name.
        let isFind = call.onlyReads && ClassPath.target(of: call.path)?.objectId == nil
        if isFind, let results = object["results"]?.arrayValue {
            object["results"] = .array(results.map { .object(self.object($0.objectValue ?? [:], of: className)) })
            return .object(object)
        }
        return .object(self.object(object, of: className))
    }

    /// What a refusal says, and nothing else.
    private static func refusal(_ value: JSONValue) -> JSONValue {
        guard let object = value.objectValue else { return [:] }
        return .object(object.filter { ["code", "error", "requestId", "needs"].contains($0.key) })
    }

    /// An object of a class without its hidden fields, and with pointers in the place of objects of other classes.
    func object(_ object: JSONObject, of className: Name) -> JSONObject {
        var shown: JSONObject = [:]
        for (key, value) in object where !limits.hides(key, of: className) { shown[key] = self.value(value) }
        return shown
    }

    private func value(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let list): return .array(list.map(self.value))
        case .object(let object):
            guard object["__type"] != nil, let className = object["className"]?.nameValue else {
                return .object(object.mapValues(self.value))
            }
            guard object["__type"] == "Object", limits.shows(className) else {
                return .object(object.filter { ["__type", "className", "objectId"].contains($0.key) })
                    .as(object["__type"] == "Object" ? "Pointer" : nil)
            }
            return .object(self.object(object, of: className))
        default: return value
        }
    }

    /// A class as the operator knows it; nil for one that the operator does not work with.
    private func schema(_ schema: JSONObject) -> JSONObject? {
        guard let className = schema["className"]?.nameValue, limits.shows(className) else { return nil }
        let hidden = limits.hidden[className] ?? []
        var shown: JSONObject = ["className": .string(className.text)]
        let fields = (schema["fields"]?.objectValue ?? [:]).filter { !hidden.contains($0.key) }
        shown["fields"] = .object(fields)
        shown["classLevelPermissions"] = schema["classLevelPermissions"].map { without(hidden, $0) }
        let indexes = (schema["indexes"]?.objectValue ?? [:]).filter { _, keys in
            (keys.objectValue ?? [:]).keys.allSatisfy { key in
                let name = Name(String(key.text.prefix { $0 != "." }))
                return name == "_id" || fields[Name(name.dropping(prefix: "_p_") ?? name.text)] != nil
            }
        }
        if !indexes.isEmpty { shown["indexes"] = .object(indexes) }
        return shown
    }

    /// Permissions without the names of fields.
    private func without(_ hidden: Set<Name>, _ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var shown: JSONObject = [:]
            for (key, inner) in object where !hidden.contains(Name(key.dropping(prefix: "userField:") ?? key.text)) {
                shown[key] = without(hidden, inner)
            }
            return .object(shown)
        case .array(let list):
            return .array(list.filter { $0.nameValue.map { !hidden.contains($0) } ?? true }.map { without(hidden, $0) })
        default: return value
        }
    }

    /// Values of the audit, which are fields, or fields by id, without hidden ones.
    func audited(_ row: JSONValue) -> JSONValue {
        guard var entry = row.objectValue, let className = entry["className"]?.nameValue else { return [:] }
        let hidden = limits.hidden[className] ?? []
        for name: Name in ["before", "after"] {
            entry[name] = entry[name].map { value(without(hidden, $0)) }
        }
        entry["fields"] = .array(
            (entry["fields"]?.arrayValue ?? []).filter { field in
                !hidden.contains(Name(String((field.stringValue ?? "").prefix { $0 != "." })))
            })
        return .object(entry)
    }
}

extension JSONValue {
    /// The same object with another type; itself where that is nil.
    fileprivate func `as`(_ type: JSONValue?) -> JSONValue {
        guard let type, var object = objectValue else { return self }
        object["__type"] = type
        return .object(object)
    }
}
