import Encoding

/// A path pattern with parameters (`/classes/:name`), wildcards (`/functions/*path`, `*`, `(.*)`) and optional parts
/// (`{/:id}`). Ignores case.
///
/// Matching follows all alternatives at once, so its time grows linearly with the length of the path.
struct RoutePattern: Sendable {
    private enum Step {
        /// A byte in lower case.
        case byte(UInt8)
        /// One byte of a path component.
        case component
        /// Any number of bytes of a path component.
        case restOfComponent
        /// Any number of bytes.
        case anything
        /// Continues with the next step or with the step at this index.
        case either(Int)
    }

    private static let maxLength = 1024
    private static let maxWildcards = 2

    private var steps: [Step] = []

    /// Parses a pattern. Returns nil if it is invalid, longer than 1,024 bytes, or has more than two wildcards.
    init?(_ pattern: String) {
        guard pattern.utf8.count <= Self.maxLength else { return nil }
        var rest = pattern.lowercased().replacing("(.*)", with: "*").utf8[...]
        guard let first = rest.first else { return nil }
        if !"/*{".utf8.contains(first) { steps.append(.byte(UInt8(ascii: "/"))) }
        var optionalParts: [Int] = []
        var wildcards = 0
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: ":"):
                guard Self.skipName(&rest) else { return nil }
                steps += [.component, .restOfComponent]
            case UInt8(ascii: "*"):
                _ = Self.skipName(&rest)
                wildcards += 1
                steps.append(.anything)
            case UInt8(ascii: "{"):
                optionalParts.append(steps.count)
                steps.append(.either(0))
            case UInt8(ascii: "}"):
                guard let start = optionalParts.popLast() else { return nil }
                steps[start] = .either(steps.count)
            case _ where "()[]?+!\\\0".utf8.contains(byte): return nil
            default: steps.append(.byte(byte))
            }
        }
        guard optionalParts.isEmpty, wildcards <= Self.maxWildcards else { return nil }
        // Any path may end with a slash.
        steps += [.either(steps.count + 2), .byte(UInt8(ascii: "/"))]
    }

    /// Whether the pattern matches the whole path.
    func matches(_ path: String) -> Bool {
        var current = [Bool](repeating: false, count: steps.count + 1)
        var following = current
        enter(0, &current)
        for byte in path.lowercased().utf8 {
            for index in steps.indices where current[index] {
                switch steps[index] {
                case .byte(let expected):
                    if byte == expected { enter(index + 1, &following) }
                case .component:
                    if byte != UInt8(ascii: "/") { enter(index + 1, &following) }
                case .restOfComponent:
                    if byte != UInt8(ascii: "/") { enter(index, &following) }
                case .anything: enter(index, &following)
                case .either: break
                }
            }
            swap(&current, &following)
            for index in following.indices { following[index] = false }
        }
        return current[steps.count]
    }

    /// Marks a step, and the steps reachable from it without consuming a byte.
    private func enter(_ first: Int, _ marks: inout [Bool]) {
        var index = first
        while !marks[index] {
            marks[index] = true
            guard index < steps.count else { return }
            switch steps[index] {
            case .byte, .component: return
            case .restOfComponent, .anything: break
            case .either(let other): enter(other, &marks)
            }
            index += 1
        }
    }

    /// Returns the first component of all matching paths in lower case, or nil if it varies.
    static func firstName(_ pattern: String) -> String? {
        let rest = pattern.utf8.drop { $0 == UInt8(ascii: "/") }
        let name = rest.prefix { !":*{}()/".utf8.contains($0) }
        let end = rest[name.endIndex...]
        // The name must be a whole component.
        guard !name.isEmpty, end.isEmpty || end.starts(with: "/".utf8) || end.starts(with: "{/".utf8) else {
            return nil
        }
        // Lowercasing is not reliable for non-ASCII letters.
        guard name.allSatisfy({ $0 < 0x80 }) else { return nil }
        return String(Substring(name)).lowercased()
    }

    /// Removes the name of a parameter from the start of the text. Returns false if it is missing.
    private static func skipName(_ rest: inout Substring.UTF8View) -> Bool {
        let length = rest.prefix { $0.isASCIIAlphanumeric || $0 == UInt8(ascii: "_") }.count
        rest.removeFirst(length)
        return length > 0
    }
}
