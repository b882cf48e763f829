import Platform

/// Estimates the memory of an incoming result. libpq keeps all rows until the last one has arrived.
///
/// libpq doesn't report its memory use, so this measures the process memory with every eighth receive of an incomplete
/// result. Most results are complete before that. Because other work also makes the process grow, a result counts as
/// too large only if more than an eighth of the limit was ready on its socket before the receives. The rest may have
/// arrived during them, which isn't counted.
struct ResultWatch {
    private static let interval = 8
    /// Bytes that libpq reads at a time if rows are small.
    private static let piece = 16 * 1024
    private var receives = 0
    /// Lowest process memory since the result began to arrive. Other work may free memory meanwhile.
    private var lowest: Int?
    /// Sum of the bytes ready before each libpq call. Bytes that a call leaves behind count again.
    private var offered = 0
    /// A lower bound of the bytes that libpq has read.
    private var consumed = 0

    /// Calls `consume`, which reads from the socket, and returns its result. If part of a query result has already
    /// arrived, records the bytes that are ready before the call and a lower bound of the bytes that it reads. Bytes
    /// that arrive during the call reduce this bound, but not below one piece if that much was ready.
    mutating func receive(from socket: Int32, _ consume: () -> Bool) -> Bool {
        guard receives > 0, let before = Self.bytesReady(on: socket) else { return consume() }
        offered += before
        let isOpen = consume()
        if let left = Self.bytesReady(on: socket) { consumed += max(min(before, Self.piece), before - left) }
        return isOpen
    }

    private static func bytesReady(on socket: Int32) -> Int? {
        var count: Int32 = 0
        return ioctl(socket, UInt(FIONREAD), &count) == 0 ? Int(count) : nil
    }

    /// Returns whether a result exceeds an expected size. Large rows may exceed it several times over before this is
    /// noticed.
    func isBeyond(expected: Int) -> Bool { consumed > expected }

    /// Records that another part of an incomplete result arrived.
    ///
    /// - Returns: Whether the result is estimated to take more than `limit` bytes.
    mutating func isBeyond(_ limit: Int) -> Bool {
        receives += 1
        guard receives % Self.interval == 0, let now = ResidentMemory.bytes else { return false }
        let lowest = min(lowest ?? now, now)
        self.lowest = lowest
        return now - lowest > limit && offered > limit / 8
    }
}

enum ResidentMemory {
    /// The resident memory of the process in bytes, or nil if the system doesn't report it.
    static var bytes: Int? {
        #if os(Linux)
            let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            var text = [UInt8](repeating: 0, count: 128)
            let count = read(file, &text, text.count)
            let fields = text.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
            // The second field is the number of resident pages.
            guard fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) else { return nil }
            return pages * sysconf(Int32(_SC_PAGESIZE))
        #elseif canImport(Darwin)
            var info = mach_task_basic_info()
            let words = MemoryLayout<mach_task_basic_info>.size / MemoryLayout<natural_t>.size
            var count = mach_msg_type_number_t(words)
            let result = withUnsafeMutablePointer(to: &info) { pointer in
                pointer.withMemoryRebound(to: integer_t.self, capacity: words) {
                    task_info(mach_task_self_, task_flavor_t(MACH_TASK_BASIC_INFO), $0, &count)
                }
            }
            return result == KERN_SUCCESS ? Int(info.resident_size) : nil
        #else
            return nil
        #endif
    }
}
