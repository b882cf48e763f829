// Operations on fields.
'use strict';

const { encode, decode } = require('./encoding.js');

const isSame = (left, right) => JSON.stringify(encode(left, false, true)) === JSON.stringify(encode(right, false, true));

/** An operation that can be merged with an earlier one on the same field. */
class Operation {
  mergeWith(previous) {
    if (previous === undefined) return this;
    if (previous instanceof Unset) return new Set(this.applyTo(undefined));
    if (previous instanceof Set) return new Set(this.applyTo(previous.value));
    return this.join(previous);
  }

  join() {
    return this;
  }
}

class Set extends Operation {
  constructor(value) {
    super();
    this.value = value;
  }

  applyTo() { return this.value; }
  mergeWith() { return this; }
  toJSON() { return encode(this.value, false, true); }
}

class Unset extends Operation {
  applyTo() { return undefined; }
  mergeWith() { return this; }
  toJSON() { return { __op: 'Delete' }; }
}

class Increment extends Operation {
  constructor(amount) {
    super();
    this.amount = amount;
  }

  applyTo(value) { return (value ?? 0) + this.amount; }
  join(previous) { return new Increment(previous.amount + this.amount); }
  toJSON() { return { __op: 'Increment', amount: this.amount }; }
}

class OfList extends Operation {
  constructor(elements) {
    super();
    this.elements = Array.isArray(elements) ? elements : [elements];
  }

  join(previous) {
    if (previous.constructor !== this.constructor) throw new TypeError('These operations cannot be joined.');
    return new this.constructor([...previous.elements, ...this.elements]);
  }

  toJSON() { return { __op: this.constructor.operation, objects: encode(this.elements, false, true) }; }
}

class Add extends OfList {
  static operation = 'Add';
  applyTo(value) { return [...(value ?? []), ...this.elements]; }
}

class AddUnique extends OfList {
  static operation = 'AddUnique';
  applyTo(value) {
    const list = [...(value ?? [])];
    for (const element of this.elements) if (!list.some(other => isSame(other, element))) list.push(element);
    return list;
  }
}

class Remove extends OfList {
  static operation = 'Remove';
  applyTo(value) { return (value ?? []).filter(other => !this.elements.some(element => isSame(other, element))); }
}

class RelationChange extends Operation {
  constructor(operation, targets) {
    super();
    this.operation = operation;
    this.targets = targets;
  }

  applyTo(value) {
    const { Relation } = require('./object.js');
    return value ?? new Relation(null, null, this.targets[0]?.className);
  }

  join(previous) { return new RelationChange(this.operation, [...previous.targets, ...this.targets]); }
  toJSON() { return { __op: this.operation, objects: this.targets.map(target => target.toPointer()) }; }
}

function fromJSON(json) {
  switch (json.__op) {
    case 'Delete': return new Unset();
    case 'Increment': return new Increment(json.amount);
    case 'Add': return new Add(decode(json.objects));
    case 'AddUnique': return new AddUnique(decode(json.objects));
    case 'Remove': return new Remove(decode(json.objects));
    case 'AddRelation':
    case 'RemoveRelation': return new RelationChange(json.__op, decode(json.objects));
    default: return undefined;
  }
}

module.exports = { Operation, Set, Unset, Increment, Add, AddUnique, Remove, RelationChange, fromJSON };
