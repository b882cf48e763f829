import CZlib

/// Decompresses gzip with one or more members, or the raw deflate data of zip files, which ``CheckedBytes`` verifies.
///
/// Compressed bytes can expand a thousandfold, so large output is rejected if its ratio to the input is too high.
final class InflatedBytes: ByteSource {
    enum Form { case gzip, raw }

    private static let greatestRatio: Int64 = 400
    /// The number of output bytes up to which the ratio isn't checked.
    private static let uncounted: Int64 = 64 * 1024 * 1024

    private let source: any ByteSource
    private let form: Form
    private let place: String
    /// The state of zlib, allocated separately because zlib stores its address.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var input: [UInt8] = []
    private var consumed = 0
    private var inputBytes: Int64 = 0
    private var outputBytes: Int64 = 0
    private var isAtEnd = false
    private var isBetweenMembers = false

    /// - Parameter place: The name of the source in errors.
    init(_ source: any ByteSource, _ form: Form, of place: String) throws {
        self.source = source
        self.form = form
        self.place = place
        stream.initialize(to: z_stream())
        guard inflate_begin(stream, form == .gzip ? 15 + 16 : -15) == Z_OK else {
            throw SourceDamage(place: place, reason: "out of memory")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    var bytesRead: Int64 { source.bytesRead }

    func read(_ limit: Int) throws -> [UInt8] {
        while !isAtEnd {
            if consumed == input.count {
                input = try source.read(65_536)
                consumed = 0
                inputBytes += Int64(input.count)
                if input.isEmpty {
                    guard isBetweenMembers else { throw SourceDamage(place: place, reason: "unexpected end of file") }
                    isAtEnd = true
                    break
                }
            }
            if isBetweenMembers {
                guard inflateReset(stream) == Z_OK else { throw SourceDamage(place: place, reason: "out of memory") }
                isBetweenMembers = false
            }
            let output = try inflateSome(limit)
            outputBytes += Int64(output.count)
            guard outputBytes <= Self.uncounted || outputBytes / Self.greatestRatio <= inputBytes else {
                throw SourceDamage(
                    place: place, reason: "it unpacks to more than \(Self.greatestRatio) times its size")
            }
            if !output.isEmpty { return output }
        }
        return []
    }

    private func inflateSome(_ limit: Int) throws -> [UInt8] {
        var status = Z_OK
        // zlib reads and writes the two arrays directly during the call.
        let output = [UInt8](unsafeUninitializedCapacity: limit) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                stream.pointee.next_in = input.baseAddress.map { $0 + consumed }
                stream.pointee.avail_in = UInt32(input.count - consumed)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(limit)
                status = inflate(stream, Z_NO_FLUSH)
                consumed = input.count - Int(stream.pointee.avail_in)
                count = limit - Int(stream.pointee.avail_out)
            }
        }
        switch status {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END:
            if form == .gzip { isBetweenMembers = true } else { isAtEnd = true }
        default: throw SourceDamage(place: place, reason: "it is damaged and can't be unpacked")
        }
        return output
    }
}
