import BSON
import Foundation
import TestTools
import Testing

/// Documents with random mutations, determined by a seed so that failures can be reproduced.
enum BSONMutations {
    /// Reads documents with one to eight mutations. The reader must neither crash nor accept all of them.
    static func run(seed: UInt64, count: Int) {
        var random = SplitMix64(seed: seed)
        let originals = [BSONBytes.everything, BSONBytes.nested(20), BSONBytes.document([])]
        var read = 0
        for number in 0..<count {
            var bytes = originals[number % originals.count]
            for _ in 0..<Int.random(in: 1...8, using: &random) { mutate(&bytes, &random) }
            if let document = try? BSONReader.document(bytes) {
                read += 1
                // A document can't have more members than bytes.
                if document.members.count > bytes.count { Issue.record("too many members of mutation \(number)") }
            }
        }
        #expect(read < count)
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
        guard !bytes.isEmpty else { return bytes.append(UInt8.random(in: 0...255, using: &random)) }
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 1: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 2: bytes.removeSubrange(place..<min(place + Int.random(in: 1...16, using: &random), bytes.count))
        case 3: bytes.insert(contentsOf: bytes[place..<min(place + 16, bytes.count)], at: place)
        case 4: bytes.replaceSubrange(place..<min(place + 4, bytes.count), with: [255, 255, 255, 127])
        default: bytes.append(UInt8.random(in: 0...255, using: &random))
        }
    }
}

/// A longer run on demand, with `scripts/soak_bson.sh`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["ROOST_BSON_MUTATIONS"] != nil)) struct BSONSoakTests {
    @Test("Reads or rejects more than a million mutated documents without crashing")
    func mutations() throws {
        let text = try #require(ProcessInfo.processInfo.environment["ROOST_BSON_MUTATIONS"])
        BSONMutations.run(seed: 1, count: try #require(Int(text)))
    }
}
