import Encoding

/// The part of a file that the header `Range` requests.
package enum ByteRange: Equatable {
    /// The whole file: the header is missing or invalid, or requests several ranges.
    case whole
    case part(Range<Int64>)
    /// A range outside the file.
    case unsatisfiable

    /// Parses the header.
    ///
    /// - Parameter size: The size of the file in bytes.
    package init(_ header: String?, size: Int64) {
        self = header.flatMap { Self.parse($0.trimmingSpaces(), size: size) } ?? .whole
    }

    private static func parse(_ header: Substring, size: Int64) -> ByteRange? {
        let unit = header.prefix { $0 != "=" }
        guard unit.asciiLowercased == "bytes", unit.endIndex < header.endIndex else { return nil }
        let specification = header[header.index(after: unit.endIndex)...].trimmingSpaces()
        let bounds = specification.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { $0.isASCIIDigit } }) else { return nil }
        switch (bounds[0].isEmpty, bounds[1].isEmpty) {
        case (true, true):
            return nil
        case (true, false):
            let length = min(number(bounds[1]), size)
            return length > 0 ? .part(size - length..<size) : .unsatisfiable
        case (false, let isOpen):
            let first = number(bounds[0])
            let last = isOpen ? Int64.max : number(bounds[1])
            guard first <= last else { return nil }
            return first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
        }
    }

    /// Numbers too large for `Int64` are capped.
    private static func number(_ digits: Substring) -> Int64 {
        Int64(digits) ?? .max
    }
}
