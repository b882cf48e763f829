/// A QR code of a short text: byte mode, error correction level M, versions 1 to 10 (ISO/IEC 18004).
package struct QRCode {
    /// Whether each module is dark, row by row, without the quiet zone.
    package private(set) var modules: [[Bool]]
    /// Modules that belong to fixed patterns. They hold no data and are not masked.
    private var isReserved: [[Bool]]
    private let version: Int
    private var size: Int { modules.count }

    private static let codewords = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346]
    private static let correctionsPerBlock = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26]
    private static let blocks = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5]
    private static let alignments = [
        [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50],
    ]

    /// Encodes a text, or returns nil if it has more than 213 bytes.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        let fitting = (1...10).first { version in
            bytes.count + (version < 10 ? 2 : 3) <= Self.dataCount(version)
        }
        guard let fitting else { return nil }
        version = fitting
        modules = Array(repeating: Array(repeating: false, count: 17 + 4 * fitting), count: 17 + 4 * fitting)
        isReserved = modules
        drawPatterns()
        draw(Self.interleaved(Self.data(bytes, fitting), fitting))
        let candidates = (0..<8).map { mask in
            var code = self
            code.apply(mask)
            return code
        }
        modules = candidates.min { $0.penalty < $1.penalty }?.modules ?? modules
    }

    // MARK: Codewords

    private static func dataCount(_ version: Int) -> Int {
        codewords[version - 1] - correctionsPerBlock[version - 1] * blocks[version - 1]
    }

    private static func data(_ bytes: [UInt8], _ version: Int) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for place in (0..<count).reversed() { bits.append(value >> place & 1 == 1) }
        }
        append(0b0100, 4)
        append(bytes.count, version < 10 ? 8 : 16)
        for byte in bytes { append(Int(byte), 8) }
        let capacity = dataCount(version) * 8
        append(0, min(4, capacity - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var padding = 0xEC
        while bits.count < capacity {
            append(padding, 8)
            padding ^= 0xEC ^ 0x11
        }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
        }
    }

    private static func interleaved(_ data: [UInt8], _ version: Int) -> [UInt8] {
        let (count, degree) = (blocks[version - 1], correctionsPerBlock[version - 1])
        let divisor = divisor(degree)
        var parts: [[UInt8]] = []
        var start = 0
        for block in 0..<count {
            let length = data.count / count + (block >= count - data.count % count ? 1 : 0)
            parts.append(Array(data[start..<start + length]))
            start += length
        }
        let corrections = parts.map { remainder(of: $0, divisor) }
        var result: [UInt8] = []
        for place in 0..<(data.count / count + 1) {
            for part in parts where place < part.count { result.append(part[place]) }
        }
        for place in 0..<degree { result += corrections.map { $0[place] } }
        return result
    }

    private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var result = 0
        for place in (0..<8).reversed() {
            result = (result << 1) ^ (result >> 7 * 0x11D)
            result ^= Int(right >> UInt8(place) & 1) * Int(left)
        }
        return UInt8(truncatingIfNeeded: result)
    }

    private static func divisor(_ degree: Int) -> [UInt8] {
        var result = Array(repeating: UInt8(0), count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for place in 0..<degree {
                result[place] = product(result[place], root) ^ (place + 1 < degree ? result[place + 1] : 0)
            }
            root = product(root, 2)
        }
        return result
    }

    private static func remainder(of data: [UInt8], _ divisor: [UInt8]) -> [UInt8] {
        var result = Array(repeating: UInt8(0), count: divisor.count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for place in result.indices { result[place] ^= product(divisor[place], factor) }
        }
        return result
    }

    // MARK: Modules

    private mutating func reserve(_ x: Int, _ y: Int, _ isDark: Bool) {
        modules[y][x] = isDark
        isReserved[y][x] = true
    }

    private mutating func drawPatterns() {
        for place in 0..<size {
            reserve(6, place, place % 2 == 0)
            reserve(place, 6, place % 2 == 0)
        }
        for (x, y) in [(3, 3), (size - 4, 3), (3, size - 4)] { drawRings(x, y, 4) }
        let places = Self.alignments[version - 1]
        for x in places {
            for y in places
            where !((x == 6 && y == 6) || (x == 6 && y == size - 7) || (x == size - 7 && y == 6)) {
                drawRings(x, y, 2)
            }
        }
        drawFormat(0)
        guard version >= 7 else { return }
        var remainder = version
        for _ in 0..<12 { remainder = remainder << 1 ^ (remainder >> 11) * 0x1F25 }
        let bits = version << 12 | remainder
        for place in 0..<18 {
            let isDark = bits >> place & 1 == 1
            reserve(size - 11 + place % 3, place / 3, isDark)
            reserve(place / 3, size - 11 + place % 3, isDark)
        }
    }

    /// Draws a finder (radius 4 with its white border) or an alignment pattern (radius 2).
    private mutating func drawRings(_ centerX: Int, _ centerY: Int, _ radius: Int) {
        for y in max(0, centerY - radius)...min(size - 1, centerY + radius) {
            for x in max(0, centerX - radius)...min(size - 1, centerX + radius) {
                let distance = max(abs(x - centerX), abs(y - centerY))
                reserve(x, y, radius == 4 ? distance != 2 && distance != 4 : distance != 1)
            }
        }
    }

    private mutating func drawFormat(_ mask: Int) {
        // The bits of level M are 0.
        var remainder = mask
        for _ in 0..<10 { remainder = remainder << 1 ^ (remainder >> 9) * 0x537 }
        let bits = (mask << 10 | remainder) ^ 0x5412
        for place in 0..<15 {
            let isDark = bits >> place & 1 == 1
            switch place {
            case ..<6: reserve(8, place, isDark)
            case 6: reserve(8, 7, isDark)
            case 7: reserve(8, 8, isDark)
            case 8: reserve(7, 8, isDark)
            default: reserve(14 - place, 8, isDark)
            }
            if place < 8 { reserve(size - 1 - place, 8, isDark) } else { reserve(8, size - 15 + place, isDark) }
        }
        reserve(8, size - 8, true)
    }

    /// Draws codewords in columns of two, from the right, upwards and downwards in turn.
    private mutating func draw(_ codewords: [UInt8]) {
        var bit = 0
        var right = size - 1
        while right >= 1 {
            if right == 6 { right = 5 }
            for step in 0..<size {
                let y = (right + 1) & 2 == 0 ? size - 1 - step : step
                for x in [right, right - 1] where !isReserved[y][x] && bit < codewords.count * 8 {
                    modules[y][x] = codewords[bit / 8] >> UInt8(7 - bit % 8) & 1 == 1
                    bit += 1
                }
            }
            right -= 2
        }
    }

    private mutating func apply(_ mask: Int) {
        for y in 0..<size {
            for x in 0..<size where !isReserved[y][x] {
                let isInverted =
                    switch mask {
                    case 0: (x + y) % 2 == 0
                    case 1: y % 2 == 0
                    case 2: x % 3 == 0
                    case 3: (x + y) % 3 == 0
                    case 4: (x / 3 + y / 2) % 2 == 0
                    case 5: x * y % 2 + x * y % 3 == 0
                    case 6: (x * y % 2 + x * y % 3) % 2 == 0
                    default: ((x + y) % 2 + x * y % 3) % 2 == 0
                    }
                if isInverted { modules[y][x].toggle() }
            }
        }
        drawFormat(mask)
    }

    /// The penalty for runs of five or more modules and 2×2 squares in one color, which make a code hard to read.
    private var penalty: Int {
        var result = 0
        for isColumn in [false, true] {
            for line in 0..<size {
                var run = 0
                for place in 0..<size {
                    let (x, y) = isColumn ? (line, place) : (place, line)
                    let (beforeX, beforeY) = isColumn ? (x, y - 1) : (x - 1, y)
                    run = place > 0 && modules[y][x] == modules[beforeY][beforeX] ? run + 1 : 1
                    if run == 5 { result += 3 } else if run > 5 { result += 1 }
                }
            }
        }
        for y in 1..<size {
            for x in 1..<size {
                let color = modules[y][x]
                if modules[y - 1][x] == color, modules[y][x - 1] == color, modules[y - 1][x - 1] == color {
                    result += 3
                }
            }
        }
        return result
    }
}
