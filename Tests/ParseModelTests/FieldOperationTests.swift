import JSON
import ParseModel
import Testing

@Suite("Field operations")
struct FieldOperationTests {
    private static let pointer: JSONValue = ["__type": "Pointer", "className": "Band", "objectId": "b1"]

    private func operation(_ text: String, isCreating: Bool = false) throws -> FieldOperation {
        try FieldOperation(json: JSONValue(parsing: text), isCreating: isCreating)
    }

    private func refusal(_ text: String, isCreating: Bool = false) throws -> String? {
        do {
            _ = try operation(text, isCreating: isCreating)
            return nil
        } catch let error as ParseError {
            return "\(error.code) \(error.message)"
        }
    }

    @Test("Parses each form of operation")
    func forms() throws {
        let pointer = Self.pointer.text
        let band = Pointer(className: "Band", objectId: "b1")
        #expect(try operation("5") == .set(5))
        #expect(try operation("null") == .set(.null))
        #expect(try operation(#"{"a":1}"#) == .set(["a": 1]))
        #expect(try operation(#"{"__op":"Delete"}"#) == .delete)
        #expect(try operation(#"{"__op":"Increment","amount":-2.5}"#) == .increment(-2.5))
        #expect(try operation(#"{"__op":"Add","objects":[1,1]}"#) == .add([1, 1]))
        #expect(try operation(#"{"__op":"AddUnique","objects":[1]}"#) == .addUnique([1]))
        #expect(try operation(#"{"__op":"Remove","objects":[]}"#) == .remove([]))
        #expect(try operation(#"{"__op":"AddRelation","objects":[\#(pointer)]}"#) == .addRelation([band]))
        #expect(try operation(#"{"__op":"RemoveRelation","objects":[\#(pointer)]}"#) == .removeRelation([band]))
        #expect(try operation(#"{"__op":"AddRelation","objects":[]}"#) == .addRelation([]))
        #expect(try operation(#"{"__op":"SetOnInsert","amount":1}"#, isCreating: true) == .set(1))
        #expect(
            try operation(
                #"{"__op":"Batch","ops":[{"__op":"AddRelation","objects":[\#(pointer)]},{"__op":"RemoveRelation","objects":[]}]}"#
            )
                == .batch([.addRelation([band]), .removeRelation([])]))
    }

    @Test("Rejects invalid operands with 107")
    func operands() throws {
        #expect(try refusal(#"{"__op":"Increment"}"#) == "107 incrementing must provide a number")
        #expect(try refusal(#"{"__op":"Increment","amount":"1"}"#) == "107 incrementing must provide a number")
        #expect(
            try refusal(#"{"__op":"Increment","amount":"1"}"#, isCreating: true)
                == "107 objects to add must be an array")
        for name in ["Add", "AddUnique", "Remove"] {
            #expect(try refusal(#"{"__op":"\#(name)"}"#) == "107 objects to add must be an array")
            #expect(
                try refusal(#"{"__op":"\#(name)","objects":{}}"#, isCreating: true)
                    == "107 objects to add must be an array")
        }
        #expect(try refusal(#"{"__op":"Batch","ops":1}"#)?.hasPrefix("107 ") == true)
    }

    @Test("Rejects unknown operations and nested batches with 108, and invalid pointers with 111")
    func unknownOperations() throws {
        #expect(try refusal(#"{"__op":"Frob"}"#) == "108 The Frob operator is not supported yet.")
        #expect(try refusal(#"{"__op":1}"#) == "108 The 1 operator is not supported yet.")
        #expect(try refusal(#"{"__op":"Batch","ops":[{"__op":"Batch","ops":[]}]}"#)?.hasPrefix("108 ") == true)
        #expect(try refusal(#"{"__op":"AddRelation","objects":[1]}"#) == "111 This is not a valid Pointer")
    }

    @Test("Derives the field's type, its value in a new object and whether it is echoed")
    func meanings() throws {
        let band = Pointer(className: "Band", objectId: "b1")
        #expect(try FieldOperation.increment(1).impliedType() == .number)
        #expect(try FieldOperation.add([]).impliedType() == .array)
        #expect(try FieldOperation.remove([]).impliedType() == .array)
        #expect(try FieldOperation.delete.impliedType() == nil)
        #expect(try FieldOperation.set(.null).impliedType() == nil)
        #expect(try FieldOperation.addRelation([band]).impliedType() == .relation("Band"))
        #expect(try FieldOperation.addRelation([]).impliedType() == nil)
        #expect(try FieldOperation.batch([.removeRelation([band])]).impliedType() == .relation("Band"))
        #expect(FieldOperation.increment(4).valueOnCreate == 4)
        #expect(FieldOperation.addUnique([1, 1]).valueOnCreate == [1, 1])
        #expect(FieldOperation.remove([1]).valueOnCreate == [])
        #expect(FieldOperation.delete.valueOnCreate == nil)
        #expect(FieldOperation.addRelation([band]).valueOnCreate == nil)
        #expect(FieldOperation.increment(1).isEchoed)
        #expect(!FieldOperation.set(1).isEchoed)
        #expect(!FieldOperation.addRelation([band]).isEchoed)
    }

    @Test(
        "Infers the field type from a value",
        arguments: [
            ("null", nil), ("true", FieldType.boolean), ("1", .number), (#""x""#, .string), ("[]", .array),
            ("{}", .object),
            (#"{"a":{"__type":"Nonsense"}}"#, .object),
            (#"{"__type":"Pointer","className":"A","objectId":"x"}"#, .pointer("A")),
            (#"{"__type":"Relation","className":"A"}"#, .relation("A")),
            (#"{"__type":"File","name":"x"}"#, .file),
            (#"{"__type":"Date","iso":"2020-01-01T00:00:00.000Z"}"#, .date),
            (#"{"__type":"GeoPoint","latitude":0,"longitude":0}"#, .geoPoint),
            (#"{"__type":"Bytes","base64":"AA=="}"#, .bytes),
            (#"{"__type":"Polygon","coordinates":[[0,0]]}"#, .polygon),
            (#"{"__type":"Object","className":"A"}"#, .object),
        ] as [(String, FieldType?)])
    func inferredTypes(text: String, type: FieldType?) throws {
        #expect(try FieldType.inferred(from: JSONValue(parsing: text)) == type)
    }

    @Test(
        "Rejects incomplete and unknown typed values with 111",
        arguments: [
            (#"{"__type":"Pointer"}"#, "Pointer"), (#"{"__type":"Pointer","className":""}"#, "Pointer"),
            (#"{"__type":"Relation"}"#, "Relation"), (#"{"__type":"File"}"#, "File"),
            (#"{"__type":"File","name":""}"#, "File"),
            (#"{"__type":"Date"}"#, "Date"), (#"{"__type":"Date","iso":""}"#, "Date"),
            (#"{"__type":"GeoPoint","latitude":1}"#, "GeoPoint"), (#"{"__type":"Bytes"}"#, "Bytes"),
            (#"{"__type":"Polygon"}"#, "Polygon"), (#"{"__type":"Nonsense"}"#, "Nonsense"), (#"{"__type":""}"#, ""),
        ])
    func malformedTypes(text: String, name: String) throws {
        do {
            _ = try FieldType.inferred(from: JSONValue(parsing: text))
            Issue.record("\(text) must be refused")
        } catch let error as ParseError {
            #expect(error.code == 111)
            #expect(error.message == "This is not a valid \(name)")
        }
    }

    @Test("Reads types by their schema names and describes them")
    func typeNames() {
        #expect(FieldType(name: "map", targetClass: nil) == .object)
        #expect(FieldType(name: "Pointer", targetClass: "_User") == .pointer("_User"))
        #expect(FieldType(name: "Pointer", targetClass: nil) == nil)
        #expect(FieldType(name: "Strange", targetClass: nil) == nil)
        #expect(FieldType.pointer("_User").description == "Pointer<_User>")
        #expect(FieldType.relation("A").description == "Relation<A>")
        #expect(FieldType.geoPoint.description == "GeoPoint")
        for name in [
            "String", "Number", "Boolean", "Date", "Object", "Array", "Bytes", "File", "GeoPoint", "Polygon", "ACL",
        ] {
            #expect(FieldType(name: name, targetClass: nil)?.name == name)
        }
    }
}
