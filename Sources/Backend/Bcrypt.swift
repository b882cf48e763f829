import CBcrypt
import CCrypt

/// Computes hashes of passwords: up to three of one cost together, which takes little more time than one of them.
enum Bcrypt {
    /// What is to be hashed.
    struct Request: Sendable {
        /// The password as it is hashed: at most 72 bytes.
        let password: [UInt8]
        /// The variant, the cost and the salt, as in the first 29 characters of a hash; what follows does not count.
        let setting: String

        /// Makes a request for the bytes of a password that count.
        init(_ password: String, setting: String) {
            self.password = Array(password.utf8.prefix(Int(BCRYPT_KEY)))
            self.setting = setting
        }

        /// The cost, if the hash can be computed with others: where all implementations agree about the variant.
        fileprivate var sharedCost: Int? {
            guard setting.hasPrefix("$2b$") || setting.hasPrefix("$2y$"), setting.utf8.count >= 29,
                setting.utf8.dropFirst(7).prefix(22).allSatisfy(letters.contains),
                let cost = Int(setting.dropFirst(4).prefix(2)), (4...31).contains(cost)
            else { return nil }
            return cost
        }
    }

    /// How many are computed together.
    static let together = Int(BCRYPT_LANES)

    /// The hashes, as `crypt` gives them; nil for what cannot be hashed.
    static func hashes(of requests: [Request]) -> [String?] {
        var hashes = [String?](repeating: nil, count: requests.count)
        for (cost, places) in Dictionary(grouping: requests.indices, by: { requests[$0].sharedCost }) {
            var places = places[...]
            while let first = places.first {
                let group = cost == nil ? places.prefix(1) : places.prefix(together)
                if let cost, group.count > 1 {
                    let computed = self.hashes(of: group.map { requests[$0] }, cost: cost)
                    for (place, hash) in zip(group, computed) { hashes[place] = hash }
                } else {
                    hashes[first] = hash(of: requests[first])
                }
                places = places.dropFirst(group.count)
            }
        }
        return hashes
    }

    /// A hash that libcrypt computes.
    private static func hash(of request: Request) -> String? {
        let data = UnsafeMutablePointer<crypt_data>.allocate(capacity: 1)
        data.initialize(to: crypt_data())
        defer {
            data.deinitialize(count: 1)
            data.deallocate()
        }
        let password = request.password.map { CChar(bitPattern: $0) } + [0]
        guard let result = crypt_r(password, request.setting, data).map({ String(cString: $0) }),
            !result.hasPrefix("*")
        else { return nil }
        return result
    }

    private static func hashes(of requests: [Request], cost: Int) -> [String?] {
        var passwords: [UInt8] = []
        var lengths: [Int32] = []
        var salts: [UInt8] = []
        for lane in 0..<together {
            // Where there are fewer, the last one is computed again beside itself.
            let request = requests[min(lane, requests.count - 1)]
            let rest = Int(BCRYPT_KEY) - request.password.count
            passwords += request.password + [UInt8](repeating: 0, count: rest)
            lengths.append(Int32(request.password.count))
            salts += decoded(request.setting.utf8.dropFirst(7).prefix(22))
        }
        var output = [UInt8](repeating: 0, count: together * Int(BCRYPT_HASH))
        bcrypt_three(passwords, lengths, salts, Int32(cost), &output)
        return requests.indices.map { lane in
            let start = lane * Int(BCRYPT_HASH)
            let salt = salts[(lane * Int(BCRYPT_SALT))...].prefix(Int(BCRYPT_SALT))
            let hash = output[start..<start + Int(BCRYPT_HASH) - 1]
            let head = requests[lane].setting.utf8.prefix(7)
            return String(decoding: head + encoded(salt) + encoded(hash), as: UTF8.self)
        }
    }

    /// The letters of bcrypt's own base 64.
    private static let letters = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    private static func encoded(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 6 {
                count -= 6
                text.append(letters[Int(bits >> count & 63)])
            }
        }
        if count > 0 { text.append(letters[Int(bits << (6 - count) & 63)]) }
        return text
    }

    /// The bytes of a salt: sixteen.
    private static func decoded(_ text: some Sequence<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count: UInt32 = 0
        for letter in text {
            bits = bits << 6 | UInt32(letters.firstIndex(of: letter) ?? 0)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bytes
    }
}
