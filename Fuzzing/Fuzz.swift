import Foundation

/// The reader named by `FUZZ_TARGET`.
private let target: @Sendable ([UInt8]) throws -> Void = {
    guard let target = Readers.all[ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""] else {
        fatalError("FUZZ_TARGET must be one of \(Readers.all.keys.sorted().joined(separator: ", "))")
    }
    return target
}()

/// The entry point of libFuzzer, which provides `main`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    // Rejecting an input is fine.
    func run(_ input: [UInt8]) { try? target(input) }
    let input = Array(UnsafeBufferPointer(start: bytes, count: count))
    run(input)
    Growth.check(input, run)
    return 0
}

/// Finds inputs that take more than linear time. Repeats a part of the input until it has eight times as many bytes, which
/// may take at most 24 times as long.
enum Growth {
    private static let (shorter, longer) = (1 << 14, 1 << 17)
    /// Shorter times are noise.
    private static let shortest = 0.1
    /// The time limit for the longer input, in seconds.
    private static let longest = 2.0
    /// Checks one input in this many, because a check takes as long as thousands of runs.
    private static let rarity: UInt64 = 512

    static func check(_ input: [UInt8], _ run: ([UInt8]) -> Void) {
        let hash = input.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        guard !input.isEmpty, hash % rarity == 0 else { return }
        // The hash selects the repeated part.
        let start = Int(hash >> 9 & 0xFFFF) % input.count
        let length = 1 + Int(hash >> 25 & 0xFFFF) % min(16, input.count - start)
        func time(_ size: Int) -> Double {
            let part = input[start..<start + length]
            var grown = Array(input[..<start])
            while grown.count < size { grown += part }
            grown += input[(start + length)...]
            let began = clock()
            run(grown)
            return Double(clock() - began) / Double(CLOCKS_PER_SEC)
        }
        let slow = time(longer)
        guard slow > shortest else { return }
        // Some inputs are well-formed only with certain numbers of repetitions.
        let expected = (0..<4).map { time(shorter + $0 * length) }.max() ?? 0
        guard slow < longest, slow < expected * 24 || expected == 0 else {
            fatalError(
                "\(length) bytes at \(start), repeated: \(expected) s for \(shorter) bytes, \(slow) s for \(longer)")
        }
    }
}
