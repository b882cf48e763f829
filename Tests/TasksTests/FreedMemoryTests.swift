#if canImport(Glibc)
    import Glibc
    import Testing

    import Tasks

    @Suite("Memory that was freed in pieces")
    struct FreedMemoryTests {
        private static let size = 3_000

        /// Whether the page of an address is in memory.
        private static func isResident(_ address: UInt) -> Bool {
            var answer: UInt8 = 0
            let page = UnsafeMutableRawPointer(bitPattern: address & ~UInt(getpagesize() - 1))
            return mincore(page, 1, &answer) == 0 && answer & 1 == 1
        }

        @Test("goes back to the system, whatever else lies behind it", .timeLimit(.minutes(1)))
        func returned() async throws {
            let pieces = (0..<20_000).map { _ in
                UnsafeMutableRawBufferPointer.allocate(byteCount: Self.size, alignment: 16)
            }
            for piece in pieces { piece.initializeMemory(as: UInt8.self, repeating: 1) }
            let inside = pieces[1_000..<19_000].map { UInt(bitPattern: $0.baseAddress) }
            #expect(inside.count(where: Self.isResident) > inside.count / 10 * 9)
            for piece in pieces.dropLast() { piece.deallocate() }
            FreedMemory.note(pieces.count * Self.size)
            while inside.count(where: Self.isResident) > inside.count / 10 {
                try await Task.sleep(for: .milliseconds(10))
            }
            pieces.last?.deallocate()
        }
    }
#endif
