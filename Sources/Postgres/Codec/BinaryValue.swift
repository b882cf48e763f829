/// A value in PostgreSQL's binary form, valid as long as the bytes are. Each reader gives nil for bytes that no value of
/// its type has.
public struct BinaryValue {
    let bytes: UnsafeRawBufferPointer

    /// Takes the bytes of a value that is not NULL.
    public init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// An integer of two, four or eight bytes.
    public var integer: Int64? {
        switch bytes.count {
        case 2: Int64(integer(0, as: Int16.self))
        case 4: Int64(integer(0, as: Int32.self))
        case 8: integer(0, as: Int64.self)
        default: nil
        }
    }

    /// A floating-point number or an integer.
    ///
    /// - Parameter type: The object id of the value's type.
    public func double(type: UInt32) -> Double? {
        switch PostgresType(rawValue: type) {
        case .float8: bytes.count == 8 ? Double(bitPattern: integer(0, as: UInt64.self)) : nil
        case .float4: bytes.count == 4 ? Double(Float(bitPattern: integer(0, as: UInt32.self))) : nil
        default: integer.map(Double.init)
        }
    }

    /// A time in milliseconds since 1970, rounded down. Infinity is a time beyond all others.
    public var milliseconds: Int64? {
        guard bytes.count == 8 else { return nil }
        let microseconds = integer(0, as: Int64.self)
        return microseconds / 1000 - (microseconds % 1000 < 0 ? 1 : 0) + ParameterEncoding.epoch
    }

    /// A point.
    public var point: (x: Double, y: Double)? { bytes.count == 16 ? point(0) : nil }

    func point(_ offset: Int) -> (x: Double, y: Double) {
        (
            Double(bitPattern: integer(offset, as: UInt64.self)),
            Double(bitPattern: integer(offset + 8, as: UInt64.self))
        )
    }

    @inline(__always)
    func integer<I: FixedWidthInteger>(_ offset: Int, as: I.Type) -> I {
        I(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: I.self))
    }
}
