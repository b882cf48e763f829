#if canImport(Glibc)
    import Glibc
    import Limits
    import Testing

    @Suite("Memory freed in small blocks")
    struct FreedMemoryTests {
        private static let size = 3_000

        private static func isResident(_ address: UInt) -> Bool {
            var answer: UInt8 = 0
            let page = UnsafeMutableRawPointer(bitPattern: address & ~UInt(getpagesize() - 1))
            return mincore(page, 1, &answer) == 0 && answer & 1 == 1
        }

        /// Frees blocks between others that remain, and returns whether nearly all of their pages are returned to the
        /// system within seconds.
        private static func leaves() async throws -> Bool {
            let pieces = (0..<20_000).map { _ in
                UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
            }
            for piece in pieces { piece.initializeMemory(as: UInt8.self, repeating: 1) }
            let inside = pieces[1_000..<19_000].map { UInt(bitPattern: $0.baseAddress) }
            #expect(inside.count(where: isResident) > inside.count / 10 * 9)
            for piece in pieces.dropLast() { piece.deallocate() }
            defer { pieces.last?.deallocate() }
            FreedMemory.record(pieces.count * size)
            let end = ContinuousClock.now + .seconds(10)
            while ContinuousClock.now < end {
                if inside.count(where: isResident) <= inside.count / 10 { return true }
                try await Task.sleep(for: .milliseconds(10))
            }
            return false
        }

        @Test("Returns to the system even if a later block is still in use", .timeLimit(.minutes(2)))
        func returned() async throws {
            // Retried, because other tests may allocate memory in the same pages.
            while try await !Self.leaves() {}
        }
    }
#endif
