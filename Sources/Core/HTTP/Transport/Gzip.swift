import CZlib

/// Gzip compression of HTTP responses.
package enum Gzip {
    /// Returns the compressed bytes, or nil if compression failed or saved no bytes.
    ///
    /// - Parameter level: The compression level, from 1 (fastest) to 9 (smallest).
    package static func packed(_ bytes: [UInt8], level: Int32 = 9) -> [UInt8]? {
        var stream = z_stream()
        guard deflate_begin(&stream, level, 15 + 16) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
        var input = bytes
        let status = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                return deflate(&stream, Z_FINISH)
            }
        }
        let size = Int(stream.total_out)
        guard status == Z_STREAM_END, size < bytes.count else { return nil }
        return Array(output.prefix(size))
    }
}
