import JSON
import ParseModel

/// Random updates of an object, applied to a model in memory.
struct DifferentialUpdates {
    let subject: DifferentialClass
    private(set) var object: JSONObject

    /// Creates an update of one to three keys, applies it to the model, and returns its body.
    mutating func next(_ random: inout DifferentialRandom) -> JSONObject {
        var body: JSONObject = [:]
        for _ in 0..<(1 + random.below(3)) {
            let field = random.pick(subject.fields.keys.texts)
            guard let type = subject.fields[field]?.type else { continue }
            let key = key(field, type, &random)
            // A key inside another key's value would be a conflict, which MongoDB rejects.
            guard
                !body.keys.texts.contains(where: { ($0 + ".").hasPrefix(key + ".") || (key + ".").hasPrefix($0 + ".") })
            else { continue }
            let operation = key == field ? operation(type, &random) : nestedOperation(key, &random)
            body[key] = operation
            apply(key, operation)
        }
        return body
    }

    private func key(_ field: String, _ type: FieldType, _ random: inout DifferentialRandom) -> String {
        guard type == .object || type == .array, random.chance(65) else { return field }
        let steps = random.list(1...4) { random in
            random.pick(random.chance(20) ? ["0", "1", "5"] : DifferentialValues.keys)
        }
        // Roost's rule: a step into an array is an index, and an array field can be entered only if it is present.
        // MongoDB rejects names as steps into arrays.
        guard isPassable(object[field], steps[...]), type == .object || object[field] != nil else { return field }
        return ([field] + steps).joined(separator: ".")
    }

    private func isPassable(_ value: JSONValue?, _ steps: ArraySlice<String>) -> Bool {
        guard let step = steps.first, let value else { return true }
        guard let list = value.arrayValue else { return isPassable(value[step], steps.dropFirst()) }
        guard let index = Int(step) else { return false }
        return isPassable(list.dropFirst(index).first, steps.dropFirst())
    }

    private func operation(_ type: FieldType, _ random: inout DifferentialRandom) -> JSONValue {
        if random.chance(15) { return random.chance(50) ? ["__op": "Delete"] : .null }
        switch type {
        case .number where random.chance(60): return increment(&random)
        case .array where random.chance(75): return listOperation(object.values.compactMap(\.arrayValue), &random)
        default: return DifferentialValues.value(type, &random)
        }
    }

    private func nestedOperation(_ key: String, _ random: inout DifferentialRandom) -> JSONValue {
        let path = key.split(separator: ".").map(String.init)
        switch random.below(10) {
        case 0, 1, 2: return DifferentialValues.anything(&random, depth: 1)
        case 3, 4:
            // Roost's rule: Delete applies to members of objects only. MongoDB sets a deleted element to null.
            if parentIsArray(path) { return .null }
            return ["__op": "Delete"]
        case 5, 6: return increment(&random)
        default:
            return listOperation(
                value(path[...], in: .object(object)).flatMap(\.arrayValue).map { [$0] } ?? [], &random)
        }
    }

    private func parentIsArray(_ path: [String]) -> Bool {
        value(path.dropLast(), in: .object(object))?.arrayValue != nil
    }

    private func value(_ path: ArraySlice<String>, in value: JSONValue) -> JSONValue? {
        guard let step = path.first else { return value }
        let child = Int(step).flatMap { index in value.arrayValue.flatMap { $0.dropFirst(index).first } } ?? value[step]
        return child.flatMap { self.value(path.dropFirst(), in: $0) }
    }

    private func increment(_ random: inout DifferentialRandom) -> JSONValue {
        ["__op": "Increment", "amount": .number(random.pick([1, -1, 0.5, 3, 1000]))]
    }

    /// Returns an Add, AddUnique or Remove of a few values, some of which already exist.
    private func listOperation(_ lists: [[JSONValue]], _ random: inout DifferentialRandom) -> JSONValue {
        let there = lists.flatMap { $0 }
        let objects = random.list(0...3) { random in
            random.chance(60)
                ? there.randomElement(using: &random) ?? DifferentialValues.text(&random)
                : DifferentialValues.anything(&random, depth: 2)
        }
        return ["__op": .string(random.pick(["Add", "AddUnique", "Remove"])), "objects": .array(objects)]
    }

    private mutating func apply(_ key: String, _ operation: JSONValue) {
        let path = key.split(separator: ".").map(String.init)
        let old = value(path[...], in: .object(object))
        let objects = operation["objects"]?.arrayValue ?? []
        switch operation["__op"]?.stringValue {
        case nil where path.count == 1 && operation.isNull, "Delete":
            object = Self.removing(path[...], from: .object(object)).objectValue ?? [:]
        case nil: set(path, operation)
        // Roost's rule: a value that is not a number counts as 0, and one that is missing or not an array counts as an
        // empty array, so Remove creates an array. MongoDB rejects wrong types and leaves missing values missing.
        case "Increment": set(path, .number((old?.numberValue ?? 0) + (operation["amount"]?.numberValue ?? 0)))
        case "Add": set(path, .array((old?.arrayValue ?? []) + objects))
        case "AddUnique":
            var list = old?.arrayValue ?? []
            for element in objects where !list.contains(where: { UnorderedValue($0) == UnorderedValue(element) }) {
                list.append(element)
            }
            set(path, .array(list))
        default:
            set(
                path,
                .array(
                    (old?.arrayValue ?? []).filter { element in
                        !objects.contains { UnorderedValue($0) == UnorderedValue(element) }
                    }))
        }
    }

    private mutating func set(_ path: [String], _ value: JSONValue) {
        object = Self.setting(path[...], in: .object(object), to: value).objectValue ?? [:]
    }

    /// Sets a value at a path. Parents that are missing, or neither objects nor arrays, become objects.
    private static func setting(_ path: ArraySlice<String>, in value: JSONValue?, to new: JSONValue) -> JSONValue {
        guard let step = path.first else { return new }
        if var list = value?.arrayValue, let index = Int(step) {
            while list.count <= index { list.append(.null) }
            list[index] = setting(path.dropFirst(), in: list[index], to: new)
            return .array(list)
        }
        var object = value?.objectValue ?? [:]
        object[step] = setting(path.dropFirst(), in: object[step], to: new)
        return .object(object)
    }

    private static func removing(_ path: ArraySlice<String>, from value: JSONValue) -> JSONValue {
        guard let step = path.first else { return value }
        if var list = value.arrayValue {
            guard let index = Int(step), list.indices.contains(index) else { return value }
            list[index] = removing(path.dropFirst(), from: list[index])
            return .array(list)
        }
        guard var object = value.objectValue, let child = object[step] else { return value }
        if path.count == 1 {
            object.removeValue(forKey: step)
        } else {
            object[step] = removing(path.dropFirst(), from: child)
        }
        return .object(object)
    }
}
