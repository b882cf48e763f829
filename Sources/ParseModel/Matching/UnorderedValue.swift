import JSON

/// A JSON value as the database compares it: the order of an object's members does not count. Texts and names are
/// compared by their bytes.
public struct UnorderedValue: Hashable, Sendable {
    /// The value, with its members in any order.
    public let value: JSONValue

    /// Makes one of a value.
    public init(_ value: JSONValue) { self.value = value }

    public static func == (left: UnorderedValue, right: UnorderedValue) -> Bool { areSame(left.value, right.value) }

    public func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

    private static func areSame(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch (left, right) {
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { areSame($0, $1) }
        case (.object(let left), .object(let right)):
            left.count == right.count
                && left.allSatisfy { key, value in right[key].map { areSame(value, $0) } ?? false }
        default: left == right
        }
    }

    private static func hash(_ value: JSONValue, into hasher: inout Hasher) {
        switch value {
        case .array(let list):
            hasher.combine(list.count)
            for element in list { hash(element, into: &hasher) }
        case .object(let object):
            // A sum is the same in every order.
            var sum = object.count
            for (key, member) in object {
                var inner = Hasher()
                inner.combine(key)
                hash(member, into: &inner)
                sum &+= inner.finalize()
            }
            hasher.combine(sum)
        default: hasher.combine(value)
        }
    }

    /// How much work it is to compare it.
    static func weight(_ value: JSONValue) -> Int {
        switch value {
        case .null, .bool, .number: 1
        case .string(let text): 1 + text.utf8.count >> 5
        case .array(let list): list.reduce(1) { $0 + weight($1) }
        case .object(let object): object.values.reduce(1 + object.count) { $0 + weight($1) }
        }
    }
}
