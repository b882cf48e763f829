/// The version of this binary.
package enum Version {
    package static let text = "0.1.0"
}
