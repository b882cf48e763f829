#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// How much memory the process holds.
enum ResidentMemory {
    /// The bytes in memory; nil where the system does not tell.
    static var bytes: Int? {
        #if os(Linux)
            let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return nil }
            defer { close(file) }
            var text = [UInt8](repeating: 0, count: 128)
            let count = read(file, &text, text.count)
            let fields = text.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
            // The second number is that of the pages in memory.
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
