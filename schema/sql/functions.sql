-- Roost's own functions, which parse-server doesn't use. PL/pgSQL functions that call others keep the search path of
-- their installation, because the servers to which Citus sends a statement have a different one.

-- Raises RS116 if a row takes more than `most` bytes as JSON. To know that, the row has to be written as JSON. Its
-- stored size is known at once but may be far smaller, since values may be compressed to a ninetieth and nothing is
-- escaped. So rows with a stored size of at most a 256th of the limit aren't checked further.
CREATE OR REPLACE FUNCTION roost_bound(changed record, most integer) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF pg_column_size(changed) > most / 256 AND octet_length(to_jsonb(changed)::text) > most THEN
        RAISE EXCEPTION '%', most USING ERRCODE = 'RS116';
    END IF;
    RETURN NULL;
END
$$;

-- Returns the sequence number of an object's change. It is assigned while the statement that returns the row has locked
-- it. Databases with Citus have other versions of this and the neighboring functions (Distribution.functions).
CREATE OR REPLACE FUNCTION roost_change_number(id text, numbers regclass) RETURNS bigint LANGUAGE sql AS $$
    SELECT nextval(numbers)
$$;

-- Returns whether a time has passed, by the clock rather than by the start of the transaction.
CREATE OR REPLACE FUNCTION roost_is_over(moment timestamptz) RETURNS boolean LANGUAGE sql PARALLEL SAFE AS $$
    SELECT moment <= clock_timestamp()
$$;

CREATE OR REPLACE FUNCTION roost_add(list jsonb, items jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(list) = 'array' THEN list ELSE '[]'::jsonb END || items
$$;

-- Appends the items that the array doesn't contain yet, each once, in their order. A value that isn't an array counts
-- as empty. Of up to 16 items, scalars and objects of scalars are looked up by containment, without creating values for
-- all elements. An array that doesn't contain such an object even in part has no equal element. For items with nested
-- values, containment isn't used: PostgreSQL would compare each element of an array with each of the other, and neither
-- a cancellation nor a time limit would stop it.
CREATE OR REPLACE FUNCTION roost_add_unique(list jsonb, items jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    -- Appending nothing reads the array from its table once. Otherwise each lookup would read it.
    known jsonb := CASE WHEN jsonb_typeof(list) = 'array' THEN list ELSE '[]'::jsonb END || '[]'::jsonb;
    fresh jsonb;
BEGIN
    IF jsonb_array_length(items) <= 16 THEN
        SELECT jsonb_agg(item ORDER BY place) INTO fresh
        FROM (SELECT item, min(place) AS place FROM jsonb_array_elements(items) WITH ORDINALITY AS i(item, place)
              GROUP BY item) AS new
        WHERE CASE
            WHEN jsonb_typeof(item) NOT IN ('object', 'array') THEN NOT known @> jsonb_build_array(item)
            WHEN jsonb_typeof(item) = 'object' AND NOT jsonb_path_exists(item, 'strict $.* ? (@.type() == "array" || @.type() == "object")')
                AND NOT known @> jsonb_build_array(item) THEN TRUE
            ELSE NOT EXISTS (SELECT 1 FROM jsonb_array_elements(known) AS e(element) WHERE element = item) END;
    ELSE
        SELECT jsonb_agg(item ORDER BY place) INTO fresh
        FROM (SELECT item, min(place) AS place FROM jsonb_array_elements(items) WITH ORDINALITY AS i(item, place)
              GROUP BY item) AS new
        WHERE item NOT IN (
            SELECT element FROM jsonb_array_elements(known) AS e(element)
            WHERE element IN (SELECT jsonb_array_elements(items)));
    END IF;
    RETURN known || COALESCE(fresh, '[]'::jsonb);
END
$$;

-- Returns the array without the elements that equal one of the items. A value that isn't an array counts as empty.
CREATE OR REPLACE FUNCTION roost_remove(list jsonb, items jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE((
        SELECT jsonb_agg(element ORDER BY place)
        FROM jsonb_array_elements(CASE WHEN jsonb_typeof(list) = 'array' THEN list END)
             WITH ORDINALITY AS e(element, place)
        WHERE NOT EXISTS (SELECT 1 FROM jsonb_array_elements(items) AS i(item) WHERE item = element)), '[]'::jsonb)
$$;

-- Adds an amount to a JSON number. Any other value counts as 0.
CREATE OR REPLACE FUNCTION roost_increment(number jsonb, amount double precision) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_jsonb(CASE WHEN jsonb_typeof(number) = 'number' THEN number::text::double precision ELSE 0 END + amount)
$$;

-- Returns the document with the value at a path replaced. Missing parents become objects, an array that is too short is
-- filled with nulls, and any other value on the path is replaced by an object. Raises RS111 if a step into an array
-- isn't an index of up to six digits, or if more than 10,000 nulls would be needed.
CREATE OR REPLACE FUNCTION roost_set(document jsonb, path text[], value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    step text := path[1];
    place int;
    child jsonb;
BEGIN
    IF cardinality(path) = 0 THEN
        RETURN value;
    END IF;
    IF jsonb_typeof(document) = 'array' AND step ~ '^[0-9]{1,6}$' THEN
        place := step::int;
        IF place - jsonb_array_length(document) > 10000 THEN
            RAISE EXCEPTION 'Cannot set % of an array', step USING ERRCODE = 'RS111';
        END IF;
        child := roost_set(document -> place, path[2:], value);
        IF jsonb_array_length(document) <= place THEN
            -- All nulls are appended at once. One by one, each would copy the whole array.
            document := document || (
                SELECT jsonb_agg('null'::jsonb) FROM generate_series(jsonb_array_length(document), place));
        END IF;
        RETURN jsonb_set(document, ARRAY[step], child);
    END IF;
    IF jsonb_typeof(document) = 'array' THEN
        RAISE EXCEPTION 'Cannot set % of an array', step USING ERRCODE = 'RS111';
    END IF;
    IF document IS NULL OR jsonb_typeof(document) <> 'object' THEN
        document := '{}'::jsonb;
    END IF;
    RETURN document || jsonb_build_object(step, roost_set(document -> step, path[2:], value));
END
$$;

-- Returns `kept`, the part of a document selected so far, with the value at another path of the document added. In an
-- array on the path, the path applies to each object and array, and other elements are left out. Returns NULL if the
-- path isn't empty and the document is neither an object nor an array.
CREATE OR REPLACE FUNCTION roost_included(kept jsonb, document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    child jsonb;
BEGIN
    IF cardinality(path) = 0 THEN RETURN document; END IF;
    IF jsonb_typeof(document) = 'object' THEN
        kept := CASE WHEN jsonb_typeof(kept) = 'object' THEN kept ELSE '{}'::jsonb END;
        child := roost_included(kept -> path[1], document -> path[1], path[2:]);
        RETURN CASE WHEN child IS NULL THEN kept ELSE kept || jsonb_build_object(path[1], child) END;
    ELSIF jsonb_typeof(document) = 'array' THEN
        RETURN (SELECT COALESCE(jsonb_agg(roost_included(kept -> (place - 1)::int, element, path) ORDER BY place), '[]')
            FROM (SELECT element, row_number() OVER (ORDER BY number) AS place
                  FROM jsonb_array_elements(document) WITH ORDINALITY AS e(element, number)
                  WHERE jsonb_typeof(element) IN ('object', 'array')) AS f);
    END IF;
    RETURN NULL;
END
$$;

-- Returns the document without the value at a path. In an array on the path, the path applies to each element.
CREATE OR REPLACE FUNCTION roost_excluded(document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(document) = 'array' THEN
        RETURN (SELECT COALESCE(jsonb_agg(roost_excluded(element, path) ORDER BY number), '[]')
            FROM jsonb_array_elements(document) WITH ORDINALITY AS e(element, number));
    ELSIF jsonb_typeof(document) <> 'object' OR document -> path[1] IS NULL THEN
        RETURN document;
    ELSIF cardinality(path) = 1 THEN
        RETURN document - path[1];
    END IF;
    RETURN document || jsonb_build_object(path[1], roost_excluded(document -> path[1], path[2:]));
END
$$;

-- Raises RS111 for more than 16 changes that together would copy more than 32 MB of a document.
CREATE OR REPLACE FUNCTION roost_check_changes(changes bigint, document jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF changes > 16 AND changes * octet_length(document::text) > 33554432 THEN
        RAISE EXCEPTION 'Too many changes inside a large object. Make fewer at once' USING ERRCODE = 'RS111';
    END IF;
END
$$;

-- Returns the document with members set in the object or array at a path. Any other value is replaced by an object.
CREATE OR REPLACE FUNCTION roost_merge(document jsonb, path text[], members jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    owner jsonb := document #> path;
    member record;
BEGIN
    IF jsonb_typeof(owner) IS DISTINCT FROM 'array' THEN
        RETURN roost_set(
            document, path, CASE WHEN jsonb_typeof(owner) = 'object' THEN owner ELSE '{}'::jsonb END || members);
    END IF;
    PERFORM roost_check_changes((SELECT count(*) FROM jsonb_object_keys(members)), owner);
    FOR member IN SELECT key, value FROM jsonb_each(members) LOOP
        owner := roost_set(owner, ARRAY[member.key], member.value);
    END LOOP;
    RETURN roost_set(document, path, owner);
END
$$;

-- Returns the document after several changes, in their order. Each change is an array of an operation, a path and an
-- operand, and copies the whole document.
CREATE OR REPLACE FUNCTION roost_change(document jsonb, changes jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    change jsonb;
    operand jsonb;
    path text[];
BEGIN
    PERFORM roost_check_changes(jsonb_array_length(changes), document);
    FOR change IN SELECT c FROM jsonb_array_elements(changes) AS e(c) LOOP
        path := ARRAY(SELECT jsonb_array_elements_text(change -> 1));
        operand := change -> 2;
        document := CASE change ->> 0
            WHEN 'merge' THEN roost_merge(document, path, operand)
            WHEN 'set' THEN roost_set(document, path, operand)
            WHEN 'delete' THEN roost_unset(document, path)
            WHEN 'increment' THEN roost_set(document, path,
                roost_increment(document #> path, COALESCE((operand #>> '{}')::double precision, 0)))
            WHEN 'add' THEN roost_set(document, path, roost_add(document #> path, operand))
            WHEN 'addUnique' THEN roost_set(document, path, roost_add_unique(document #> path, operand))
            ELSE roost_set(document, path, roost_remove(document #> path, operand))
        END;
    END LOOP;
    RETURN document;
END
$$;

-- Returns the great-circle distance in radians between a point (longitude, latitude) and a place in degrees. The
-- haversine is limited to 0 to 1, which it can exceed by rounding, or for a point beyond the poles that a client saved.
CREATE OR REPLACE FUNCTION roost_distance(place point, longitude double precision, latitude double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT 2 * asin(sqrt(greatest(0.0, least(1.0,
        power(sin(radians(latitude - place[1]) / 2), 2)
        + cos(radians(latitude)) * cos(radians(place[1])) * power(sin(radians(longitude - place[0]) / 2), 2)))))
$$;

-- Returns a number as JSON, or null for NaN and the infinities, which JSON doesn't have and to_jsonb would write as
-- texts. The function is as STABLE as to_jsonb. Otherwise PostgreSQL couldn't inline it and would call it for each row.
CREATE OR REPLACE FUNCTION roost_json(number double precision) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN number > '-Infinity' AND number < 'Infinity' THEN to_jsonb(number)
        WHEN number IS NOT NULL THEN 'null'::jsonb END
$$;

-- Returns a JSON number as a double, or NULL for any other value.
CREATE OR REPLACE FUNCTION roost_number(value jsonb) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN value::text::double precision END
$$;

-- Returns a value that an aggregation has computed. Raises RS102 if it exceeds 16 MB, since values may grow with each
-- step or stage.
CREATE OR REPLACE FUNCTION roost_bounded(value jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF pg_column_size(value) > 16777216 THEN
        RAISE EXCEPTION 'A computed value is larger than 16 MB' USING ERRCODE = 'RS102';
    END IF;
    RETURN value;
END
$$;

-- Adds the size of a value to those of a list that an aggregation builds. Raises RS102 if they exceed `most` bytes, before
-- the list takes more memory. The empty path decompresses a value from a table.
CREATE OR REPLACE FUNCTION roost_grown(total bigint, value jsonb, most int) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    total := total + pg_column_size(value #> '{}');
    IF total > most THEN
        RAISE EXCEPTION 'A computed list is larger than % MB', trim_scale(round(most / 1048576.0, 2)) USING ERRCODE = 'RS102';
    END IF;
    RETURN total;
END
$$;

-- Returns the size of all values, in bytes. Missing values don't count.
CREATE OR REPLACE AGGREGATE roost_size(value jsonb, most int) (
    SFUNC = roost_grown, STYPE = bigint, INITCOND = 0, PARALLEL = SAFE);

-- Rounds a number to some digits after the decimal point (-20 to 100). A tie becomes the even digit.
CREATE OR REPLACE FUNCTION roost_rounded(number double precision, digits int) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN digits BETWEEN -20 AND 100
        AND abs(number::numeric - round(number::numeric, digits)) * 2 = 10::numeric ^ (-digits)
        THEN round(number::numeric / 2, digits) * 2 ELSE round(number::numeric, digits) END::double precision
$$;

-- Returns a JSON array, or NULL for any other value.
CREATE OR REPLACE FUNCTION roost_array(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'array' THEN value END
$$;

-- Returns a JSON array. If `may_be_null` is true, returns NULL for a missing value and null. Raises RS102 for any other
-- value.
CREATE OR REPLACE FUNCTION roost_list(value jsonb, operation text, may_be_null boolean) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF jsonb_typeof(value) = 'array' THEN RETURN value; END IF;
    IF may_be_null AND (value IS NULL OR value = 'null') THEN RETURN NULL; END IF;
    RAISE EXCEPTION '% needs an array', operation USING ERRCODE = 'RS102';
END
$$;

-- Returns the element at an index. A negative index counts from the end. Returns NULL for an index outside the array,
-- and null if the list or the index is missing or null.
CREATE OR REPLACE FUNCTION roost_element(list jsonb, place jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    number double precision := roost_number(place);
BEGIN
    IF list IS NULL OR list = 'null' OR place IS NULL OR place = 'null' THEN RETURN 'null'; END IF;
    list := roost_list(list, '$arrayElemAt', false);
    IF number IS NULL OR number <> floor(number) OR abs(number) > 2147483647 THEN
        RAISE EXCEPTION '$arrayElemAt requires a 32-bit whole number as index' USING ERRCODE = 'RS102';
    END IF;
    RETURN list -> number::int;
END
$$;

-- Returns the elements of all lists, each once, or null if one of the lists is null.
CREATE OR REPLACE FUNCTION roost_set_union(lists jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(list = 'null') THEN 'null'::jsonb ELSE COALESCE((
        SELECT jsonb_agg(element ORDER BY element) FROM (
            SELECT DISTINCT element FROM jsonb_array_elements(lists) AS l(list),
                jsonb_array_elements(roost_list(list, '$setUnion', true)) AS e(element)) AS d), '[]') END
    FROM jsonb_array_elements(lists) AS l(list)
$$;

-- Returns the elements that all lists contain, each once, or null if one of the lists is null.
CREATE OR REPLACE FUNCTION roost_set_intersection(lists jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(list = 'null') THEN 'null'::jsonb ELSE COALESCE((
        SELECT jsonb_agg(element ORDER BY element) FROM (
            SELECT element FROM jsonb_array_elements(lists) WITH ORDINALITY AS l(list, place),
                jsonb_array_elements(roost_list(list, '$setIntersection', true)) AS e(element)
            GROUP BY element HAVING count(DISTINCT place) = jsonb_array_length(lists)) AS d), '[]') END
    FROM jsonb_array_elements(lists) AS l(list)
$$;

-- Returns the elements of the first list that the second doesn't contain, each once. If `may_be_null` is true, returns
-- null if a list is missing or null.
CREATE OR REPLACE FUNCTION roost_set_difference(list jsonb, other jsonb, operation text, may_be_null boolean)
RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN roost_list(list, operation, may_be_null) IS NULL OR roost_list(other, operation, may_be_null) IS NULL
        THEN 'null'::jsonb ELSE COALESCE((
            SELECT jsonb_agg(element ORDER BY element) FROM (
                SELECT element FROM jsonb_array_elements(list) AS e(element)
                EXCEPT SELECT element FROM jsonb_array_elements(other) AS o(element)) AS d), '[]') END
$$;

-- Returns whether all lists contain the same elements, in any order and any number of times.
CREATE OR REPLACE FUNCTION roost_set_equals(lists jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_jsonb(NOT EXISTS (
        SELECT 1 FROM jsonb_array_elements(lists) WITH ORDINALITY AS l(list, place),
            jsonb_array_elements(roost_list(list, '$setEquals', false)) AS e(element)
        GROUP BY element HAVING count(DISTINCT place) < jsonb_array_length(lists))
        AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(lists) AS l(list)
            WHERE roost_list(list, '$setEquals', false) IS NULL))
$$;

-- Concatenates lists. Returns null if one of them is null.
CREATE OR REPLACE FUNCTION roost_concatenated(lists jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(list = 'null') THEN 'null'::jsonb ELSE COALESCE((
        SELECT roost_bounded(jsonb_agg(element ORDER BY place, position))
        FROM jsonb_array_elements(lists) WITH ORDINALITY AS l(list, place),
            jsonb_array_elements(roost_list(list, '$concatArrays', true)) WITH ORDINALITY AS e(element, position)
    ), '[]') END
    FROM jsonb_array_elements(lists) AS l(list)
$$;

-- Returns the given name of a time zone. Raises RS102 if PostgreSQL doesn't know it.
CREATE OR REPLACE FUNCTION roost_zone(name text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_timezone_names AS z WHERE z.name = roost_zone.name) THEN
        RAISE EXCEPTION 'unrecognized time zone identifier: "%"', name USING ERRCODE = 'RS102';
    END IF;
    RETURN name;
END
$$;

-- Returns a JSON string as text, or NULL for a missing value and null. Raises RS102 for any other value.
CREATE OR REPLACE FUNCTION roost_string(value jsonb, operation text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN NULL; END IF;
    IF jsonb_typeof(value) = 'string' THEN RETURN value #>> '{}'; END IF;
    RAISE EXCEPTION '% only supports strings, not %', operation, jsonb_typeof(value) USING ERRCODE = 'RS102';
END
$$;

-- Returns a JSON string, number or date as text, empty for a missing value and null. Raises RS102 for any other value.
CREATE OR REPLACE FUNCTION roost_text(value jsonb, operation text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN ''; END IF;
    IF jsonb_typeof(value) IN ('string', 'number') THEN RETURN value #>> '{}'; END IF;
    IF jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Date' THEN RETURN value ->> 'iso'; END IF;
    RAISE EXCEPTION '% can''t convert the type % to a string', operation, jsonb_typeof(value) USING ERRCODE = 'RS102';
END
$$;

-- Concatenates texts. Returns null if one of them is null.
CREATE OR REPLACE FUNCTION roost_concat(texts jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(value = 'null') THEN 'null'::jsonb
        ELSE roost_bounded(to_jsonb(string_agg(roost_string(value, '$concat'), '' ORDER BY place))) END
    FROM jsonb_array_elements(texts) WITH ORDINALITY AS t(value, place)
$$;

-- Splits a text at a separator. Returns null if either is missing or null.
CREATE OR REPLACE FUNCTION roost_split(value jsonb, separator jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, '$split');
    border text := roost_string(separator, '$split');
BEGIN
    IF content IS NULL OR border IS NULL THEN RETURN 'null'; END IF;
    IF border = '' THEN RAISE EXCEPTION '$split requires a non-empty separator' USING ERRCODE = 'RS102'; END IF;
    IF content = '' THEN RETURN '[""]'; END IF;
    RETURN to_jsonb(string_to_array(content, border));
END
$$;

-- Returns a part of a text, measured in characters ($substrCP) or bytes. In bytes, a negative length means the rest.
-- Returns NULL if the start or the length is missing or null.
CREATE OR REPLACE FUNCTION roost_substr(value jsonb, start jsonb, length jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_text(value, operation);
    first double precision := trunc(roost_number(start));
    most double precision := trunc(roost_number(length));
    bytes bytea;
    border int;
BEGIN
    IF COALESCE(start, 'null') = 'null' OR COALESCE(length, 'null') = 'null' THEN RETURN NULL; END IF;
    IF first IS NULL OR most IS NULL OR abs(first) > 1000000000 OR abs(most) > 1000000000
        OR operation = '$substrCP' AND (first < 0 OR most < 0)
    THEN
        RAISE EXCEPTION '%: start and length must be numbers in range', operation USING ERRCODE = 'RS102';
    END IF;
    IF operation = '$substrCP' THEN RETURN to_jsonb(substr(content, first::int + 1, most::int)); END IF;
    bytes := convert_to(content, 'UTF8');
    IF first < 0 OR first >= octet_length(bytes) THEN RETURN '""'; END IF;
    IF most < 0 THEN most := 1000000000; END IF;
    FOREACH border IN ARRAY ARRAY[first::int, least(first + most, octet_length(bytes))::int] LOOP
        IF border < octet_length(bytes) AND get_byte(bytes, border) & 192 = 128 THEN
            RAISE EXCEPTION '%: the range begins or ends inside a character', operation USING ERRCODE = 'RS102';
        END IF;
    END LOOP;
    RETURN to_jsonb(convert_from(substring(bytes FROM first::int + 1 FOR most::int), 'UTF8'));
END
$$;

-- Converts a value to another type, as $convert does. Returns NULL if the value can't be converted.
CREATE OR REPLACE FUNCTION roost_converted(value jsonb, target text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    type int := roost_rank(value);
    content text := value #>> '{}';
    number numeric;
BEGIN
    IF target = 'string' THEN
        RETURN CASE type WHEN 2 THEN to_jsonb(trim_scale(content::numeric)::text) WHEN 3 THEN value
            WHEN 4 THEN roost_stored_pointer(value) WHEN 6 THEN to_jsonb(content) WHEN 7 THEN value -> 'iso' END;
    ELSIF target = 'objectId' THEN
        RETURN CASE WHEN type = 3 THEN value END;
    ELSIF target = 'bool' THEN
        RETURN to_jsonb(CASE type WHEN 2 THEN content::numeric <> 0 WHEN 6 THEN content = 'true' ELSE true END);
    ELSIF target = 'date' THEN
        IF type = 2 AND content::numeric BETWEEN -62135596800000 AND 253402300799999 THEN
            RETURN roost_date('epoch'::timestamp + trunc(content::numeric)::float8 * interval '1 millisecond');
        END IF;
        RETURN CASE type WHEN 3 THEN roost_date(roost_moment(content)) WHEN 7 THEN value END;
    END IF;
    IF type = 3 AND octet_length(content) <= 400 AND (content ~ '^[+-]?[0-9]+$' OR target NOT IN ('int', 'long')
        AND content ~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$')
    THEN
        number := content::numeric;
    ELSIF type = 7 AND target <> 'int' THEN
        number := extract(epoch FROM roost_moment(value ->> 'iso'))::numeric * 1000;
    ELSIF type IN (2, 6) THEN
        number := CASE content WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE content::numeric END;
    END IF;
    IF target IN ('int', 'long') THEN
        number := trunc(number);
        IF number NOT BETWEEN -2147483648 AND 2147483647 AND target = 'int' OR abs(number) > 9007199254740992 THEN
            RETURN NULL;
        END IF;
    ELSIF abs(number) > 1.7e308 THEN
        RETURN NULL;
    ELSIF abs(number) < 1e-300 THEN
        number := 0;
    END IF;
    RETURN to_jsonb(number::double precision);
END
$$;

-- Raises the error for a value that can't be converted to another type.
CREATE OR REPLACE FUNCTION roost_failed(value jsonb, target text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(value) = 'string' THEN
        RAISE EXCEPTION 'Failed to parse ''%'' as % in $convert with no onError value', left(value #>> '{}', 100), target
            USING ERRCODE = 'RS102';
    END IF;
    RAISE EXCEPTION 'Unsupported conversion from % to % in $convert with no onError value', roost_type(value), target
        USING ERRCODE = 'RS102';
END
$$;

-- Converts a value to another type. Returns null for a missing value and null. Raises RS102 if the value can't be
-- converted.
CREATE OR REPLACE FUNCTION roost_convert(value jsonb, target text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN 'null'; END IF;
    RETURN COALESCE(roost_converted(value, target), roost_failed(value, target));
END
$$;

-- Replaces the first occurrence of a text, or all of them ($replaceAll). Returns null if one of the texts is missing or
-- null.
CREATE OR REPLACE FUNCTION roost_replaced(value jsonb, find jsonb, replacement jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, operation);
    wanted text := roost_string(find, operation);
    other text := roost_string(replacement, operation);
    place int := strpos(content, wanted);
BEGIN
    IF content IS NULL OR wanted IS NULL OR other IS NULL THEN RETURN 'null'; END IF;
    -- Occurrences are counted only if there could be too many.
    IF operation = '$replaceAll' AND octet_length(content)::bigint * octet_length(other) > 16777216
        AND octet_length(wanted) > 0
        AND (octet_length(content) - octet_length(replace(content, wanted, '')))::bigint / octet_length(wanted)
            * octet_length(other) > 16777216
    THEN
        RAISE EXCEPTION 'A computed value is larger than 16 MB' USING ERRCODE = 'RS102';
    END IF;
    IF operation = '$replaceAll' THEN RETURN to_jsonb(replace(content, wanted, other)); END IF;
    RETURN to_jsonb(CASE WHEN place = 0 THEN content
        ELSE left(content, place - 1) || other || substr(content, place + length(wanted)) END);
END
$$;

-- Returns a text without certain characters at both ends, or at one ($ltrim, $rtrim). Returns null if the text or the
-- characters are missing or null.
CREATE OR REPLACE FUNCTION roost_trimmed(value jsonb, characters jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, operation);
    removed text := roost_string(characters, operation);
BEGIN
    RETURN COALESCE(to_jsonb(CASE operation WHEN '$ltrim' THEN ltrim(content, removed)
        WHEN '$rtrim' THEN rtrim(content, removed) ELSE btrim(content, removed) END), 'null');
END
$$;

-- Returns the index of a text in another, in characters from 0, searched between two indexes. Returns -1 if it isn't
-- found, and null if the searched text is missing or null.
CREATE OR REPLACE FUNCTION roost_index(value jsonb, find jsonb, first jsonb, past jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, '$indexOfCP');
    wanted text := roost_string(find, '$indexOfCP');
    start double precision := CASE WHEN COALESCE(first, 'null') = 'null' THEN 0 ELSE roost_number(first) END;
    border double precision := CASE WHEN COALESCE(past, 'null') = 'null' THEN length(content) ELSE roost_number(past) END;
    place int;
BEGIN
    IF content IS NULL THEN RETURN 'null'; END IF;
    IF wanted IS NULL OR start IS NULL OR border IS NULL OR start <> floor(start) OR border <> floor(border)
        OR start < 0 OR border < 0
    THEN
        RAISE EXCEPTION '$indexOfCP requires a string, and start and end of at least 0' USING ERRCODE = 'RS102';
    END IF;
    IF start > length(content) THEN RETURN '-1'; END IF;
    place := strpos(substr(left(content, least(border, length(content))::int), start::int + 1), wanted);
    RETURN to_jsonb(CASE WHEN place = 0 OR start > border THEN -1 ELSE start::int + place - 1 END);
END
$$;

-- Returns the sum of numbers, or of one date and numbers of milliseconds. Returns null if an operand is neither a
-- number nor a date.
CREATE OR REPLACE FUNCTION roost_plus(items jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    item jsonb;
    total double precision := 0;
    moment timestamp;
BEGIN
    FOR item IN SELECT e FROM jsonb_array_elements(items) AS l(e) LOOP
        IF roost_rank(item) = 2 THEN
            total := total + roost_number(item);
        ELSIF roost_rank(item) <> 7 THEN
            RETURN 'null';
        ELSIF moment IS NOT NULL THEN
            RAISE EXCEPTION 'only one date allowed in an $add expression' USING ERRCODE = 'RS102';
        ELSE
            moment := roost_moment(item ->> 'iso');
        END IF;
    END LOOP;
    RETURN COALESCE(roost_date(moment + trunc(total) * interval '1 millisecond'), roost_json(total));
END
$$;

-- Subtracts numbers, dates (in milliseconds), or milliseconds from a date. Returns null for other operands.
CREATE OR REPLACE FUNCTION roost_minus(one jsonb, other jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    moment timestamp := CASE WHEN roost_rank(one) = 7 THEN roost_moment(one ->> 'iso') END;
BEGIN
    IF moment IS NULL THEN RETURN COALESCE(roost_json(roost_number(one) - roost_number(other)), 'null'); END IF;
    IF roost_rank(other) = 7 THEN
        RETURN to_jsonb(round(extract(epoch FROM moment - roost_moment(other ->> 'iso')) * 1000));
    END IF;
    RETURN COALESCE(roost_date(moment - trunc(roost_number(other)) * interval '1 millisecond'), 'null');
END
$$;

-- Returns MongoDB's name for the type of a value. All numbers are doubles.
CREATE OR REPLACE FUNCTION roost_type(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'number' THEN 'double' WHEN 'boolean' THEN 'bool'
        WHEN 'object' THEN CASE WHEN value ->> '__type' = 'Date' THEN 'date' ELSE 'object' END
        ELSE COALESCE(jsonb_typeof(value), 'missing') END
$$;

-- Raises the error for a $switch without a matching branch. Volatile, since PostgreSQL evaluates other functions of
-- constants before it reads rows.
CREATE OR REPLACE FUNCTION roost_unmatched() RETURNS jsonb LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
    RAISE EXCEPTION '$switch could not find a matching branch for an input, and no default was specified.'
        USING ERRCODE = 'RS102';
END
$$;

-- Adds the members of an object to another. A missing object and null are skipped. Raises RS102 if the result exceeds
-- `most` bytes.
CREATE OR REPLACE FUNCTION roost_extended(result jsonb, part jsonb, most int) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF part IS NULL OR part = 'null' THEN RETURN result; END IF;
    IF jsonb_typeof(part) <> 'object' OR part ->> '__type' = 'Date' THEN
        RAISE EXCEPTION '$mergeObjects requires object inputs, not %', CASE jsonb_typeof(part) WHEN 'object' THEN 'date'
            WHEN 'number' THEN 'double' WHEN 'boolean' THEN 'bool' ELSE jsonb_typeof(part) END USING ERRCODE = 'RS102';
    END IF;
    result := result || part;
    IF pg_column_size(result) > most THEN
        RAISE EXCEPTION 'A computed value is larger than % MB', trim_scale(round(most / 1048576.0, 2)) USING ERRCODE = 'RS102';
    END IF;
    RETURN result;
END
$$;

-- Merges objects in their order. Members of later objects win.
CREATE OR REPLACE AGGREGATE roost_merged(part jsonb, most int) (
    SFUNC = roost_extended, STYPE = jsonb, INITCOND = '{}', PARALLEL = SAFE);
CREATE OR REPLACE FUNCTION roost_merged(objects jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT roost_merged(part, 16777216 ORDER BY place) FROM jsonb_array_elements(objects) WITH ORDINALITY AS o(part, place)
$$;

-- Returns the members of an object as a list of names and values, or null for a missing value and null.
CREATE OR REPLACE FUNCTION roost_pairs(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN 'null'; END IF;
    IF roost_rank(value) <> 4 THEN
        RAISE EXCEPTION '$objectToArray requires an object, not %', roost_type(value) USING ERRCODE = 'RS102';
    END IF;
    RETURN (SELECT COALESCE(jsonb_agg(jsonb_build_object('k', m.key, 'v', m.value)), '[]') FROM jsonb_each(value) AS m);
END
$$;

-- Returns the object for a list of names and values, or null for a missing value and null.
CREATE OR REPLACE FUNCTION roost_paired(list jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    pair jsonb;
    names text[] := '{}';
    items jsonb[] := '{}';
BEGIN
    IF roost_list(list, '$arrayToObject', true) IS NULL THEN RETURN 'null'; END IF;
    FOR pair IN SELECT e FROM jsonb_array_elements(list) AS l(e) LOOP
        IF jsonb_typeof(pair) = 'array' AND jsonb_array_length(pair) = 2 THEN
            pair := jsonb_build_object('k', pair -> 0, 'v', pair -> 1);
        END IF;
        IF jsonb_typeof(pair -> 'k') IS DISTINCT FROM 'string' OR pair -> 'v' IS NULL THEN
            RAISE EXCEPTION '$arrayToObject requires pairs of a string and a value' USING ERRCODE = 'RS102';
        END IF;
        names := names || (pair ->> 'k');
        items := items || (pair -> 'v');
    END LOOP;
    RETURN roost_object(names, items);
END
$$;

-- Returns a list in reverse order, or null for a missing value and null.
CREATE OR REPLACE FUNCTION roost_reversed(list jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN roost_list(list, '$reverseArray', true) IS NULL THEN 'null'::jsonb ELSE (
        SELECT COALESCE(jsonb_agg(element ORDER BY place DESC), '[]')
        FROM jsonb_array_elements(list) WITH ORDINALITY AS e(element, place)) END
$$;

-- Returns a part of a list: some elements from its beginning, from its end, or from an index. Returns null if the list
-- or `first` is missing or null, or if `most` is null.
CREATE OR REPLACE FUNCTION roost_slice(list jsonb, first jsonb, most jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    size int := jsonb_array_length(roost_list(list, '$slice', true));
    start double precision := roost_number(first);
    count double precision := roost_number(most);
BEGIN
    IF size IS NULL OR COALESCE(first, 'null') = 'null' OR most = 'null' THEN RETURN 'null'; END IF;
    IF start IS NULL OR start <> floor(start) OR most IS NOT NULL AND (count IS NULL OR count <> floor(count) OR count < 1)
    THEN
        RAISE EXCEPTION '$slice requires whole numbers, and a count of at least 1' USING ERRCODE = 'RS102';
    END IF;
    IF most IS NULL THEN
        count := abs(start);
        IF start > 0 THEN start := 0; END IF;
    END IF;
    start := CASE WHEN start < 0 THEN greatest(size + start, 0) ELSE start END;
    RETURN (SELECT COALESCE(jsonb_agg(element ORDER BY place), '[]')
        FROM jsonb_array_elements(list) WITH ORDINALITY AS e(element, place)
        WHERE place > start AND place <= start + count);
END
$$;

-- Returns the sum, average, minimum or maximum of values. A single array stands for its elements.
CREATE OR REPLACE FUNCTION roost_folded(items jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_array_length(items) = 1 AND jsonb_typeof(items -> 0) = 'array' THEN items := items -> 0; END IF;
    IF operation = '$sum' THEN
        RETURN (SELECT roost_json(COALESCE(sum(roost_number(e)), 0)) FROM jsonb_array_elements(items) AS l(e));
    ELSIF operation = '$avg' THEN
        RETURN (SELECT COALESCE(roost_json(avg(roost_number(e))), 'null') FROM jsonb_array_elements(items) AS l(e));
    ELSIF operation = '$min' THEN
        RETURN COALESCE((SELECT e FROM jsonb_array_elements(items) AS l(e) WHERE e <> 'null'
            ORDER BY roost_rank(e), e LIMIT 1), 'null');
    END IF;
    RETURN COALESCE((SELECT e FROM jsonb_array_elements(items) AS l(e) WHERE e <> 'null'
        ORDER BY roost_rank(e) DESC, e DESC LIMIT 1), 'null');
END
$$;

-- Returns whether a value counts as true in an expression. Missing values, null, false and 0 don't.
CREATE OR REPLACE FUNCTION roost_truth(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(value NOT IN ('null', 'false', '0'), false)
$$;

-- Returns the time that an ISO 8601 text denotes, in UTC if the text has no zone, or NULL for other texts. PostgreSQL's
-- own parser isn't used, since it raises an error for a date that doesn't exist.
CREATE OR REPLACE FUNCTION roost_moment(content text) RETURNS timestamp LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    part text[] := regexp_match(content, '^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?'
        '(Z|z|[+-]\d\d(?::?\d\d)?)?$');
    shift interval := '0';
BEGIN
    IF part IS NULL OR part[1] = '0000' OR part[2] NOT BETWEEN '01' AND '12' OR part[3] = '00'
        OR COALESCE(part[4] > '23' OR part[5] > '59' OR part[6] > '59', false)
        OR part[3]::int > extract(day FROM make_date(part[1]::int, part[2]::int, 1) + interval '1 month -1 day')
    THEN
        RETURN NULL;
    END IF;
    IF length(part[8]) > 1 THEN
        shift := make_interval(
            hours => left(part[8], 3)::int,
            mins => (left(part[8], 1) || COALESCE(NULLIF(right(replace(part[8], ':', ''), -3), ''), '0'))::int);
    END IF;
    RETURN make_timestamp(part[1]::int, part[2]::int, part[3]::int, COALESCE(part[4], '0')::int,
        COALESCE(part[5], '0')::int, (COALESCE(part[6], '0') || '.' || left(COALESCE(part[7], '0'), 3))::float8) - shift;
END
$$;

-- Returns the time of a JSON date, or of a text that denotes one, in UTC, or NULL for any other value.
CREATE OR REPLACE FUNCTION roost_time(value jsonb) RETURNS timestamp LANGUAGE sql STABLE PARALLEL SAFE AS $$
    -- Days up to the 28th exist in every month. PostgreSQL reads these faster than roost_moment does.
    SELECT CASE WHEN text ~ ('^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T'
        '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,3})?Z$')
        THEN text::timestamp with time zone AT TIME ZONE 'UTC' WHEN text IS NOT NULL THEN roost_moment(text) END
    FROM (SELECT CASE jsonb_typeof(value) WHEN 'object' THEN value ->> 'iso' WHEN 'string' THEN value #>> '{}' END
    ) AS t(text)
$$;

-- Returns the rank of a value's type in MongoDB's order: missing, null, numbers, texts, objects, arrays, Booleans,
-- dates.
CREATE OR REPLACE FUNCTION roost_rank(value jsonb) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'null' THEN 1 WHEN 'number' THEN 2 WHEN 'string' THEN 3
        WHEN 'object' THEN CASE WHEN value ->> '__type' = 'Date' THEN 7 ELSE 4 END
        WHEN 'array' THEN 5 WHEN 'boolean' THEN 6 ELSE 0 END
$$;

-- Returns a time in UTC as a JSON date. Raises RS102 for years outside 1 to 9999.
CREATE OR REPLACE FUNCTION roost_date(moment timestamp) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF moment < '0001-01-01' OR moment >= '10000-01-01' THEN
        RAISE EXCEPTION 'A date must be between the years 1 and 9999' USING ERRCODE = 'RS102';
    END IF;
    RETURN CASE WHEN moment IS NOT NULL THEN jsonb_build_object(
        '__type', 'Date', 'iso', to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END;
END
$$;

-- Returns the JSON date for a text that denotes a time. Returns other texts unchanged.
CREATE OR REPLACE FUNCTION roost_dated(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN COALESCE(roost_date(roost_moment(value #>> '{}')), value);
END
$$;

-- Returns a number below, equal to or above 0 for two values in MongoDB's order. A text that denotes a time counts as a
-- date if the other value is a date. The first comparison is enough for most values, since they have the same simple
-- type.
CREATE OR REPLACE FUNCTION roost_compare(one jsonb, other jsonb) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    first int;
    second int;
    type text := jsonb_typeof(one);
BEGIN
    IF type <> 'object' AND type = jsonb_typeof(other) THEN
        RETURN CASE WHEN one < other THEN -1 WHEN one > other THEN 1 ELSE 0 END;
    END IF;
    first := roost_rank(one);
    second := roost_rank(other);
    IF first = 7 AND second = 3 THEN
        other := roost_dated(other);
        second := roost_rank(other);
    ELSIF first = 3 AND second = 7 THEN
        one := roost_dated(one);
        first := roost_rank(one);
    END IF;
    RETURN CASE WHEN first <> second THEN first - second WHEN one < other THEN -1 WHEN one > other THEN 1 ELSE 0 END;
END
$$;

-- Returns the lower boundary of the range that contains a value. If no range does, returns `otherwise`, or raises RS102
-- if that is NULL.
CREATE OR REPLACE FUNCTION roost_bucket(value jsonb, borders jsonb, otherwise jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    low int := 0;
    high int := jsonb_array_length(borders) - 1;
    middle int;
BEGIN
    IF roost_compare(value, borders -> low) < 0 OR roost_compare(value, borders -> high) >= 0 THEN
        IF otherwise IS NULL THEN
            RAISE EXCEPTION '$switch could not find a matching branch for an input, and no default was specified.'
                USING ERRCODE = 'RS102';
        END IF;
        RETURN otherwise;
    END IF;
    WHILE high - low > 1 LOOP
        middle := (low + high) / 2;
        IF roost_compare(value, borders -> middle) < 0 THEN high := middle; ELSE low := middle; END IF;
    END LOOP;
    RETURN borders -> low;
END
$$;

-- Returns the value that a path in an expression leads to, or NULL if there is none. Unless the next step is an index,
-- an array on the path stands for the array of the values that the rest of the path leads to from its objects.
CREATE OR REPLACE FUNCTION roost_reached(value jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    FOR place IN 1..cardinality(path) LOOP
        IF jsonb_typeof(value) = 'array' AND path[place] !~ '^[0-9]+$' THEN
            RETURN (SELECT COALESCE(jsonb_agg(leaf ORDER BY number), '[]')
                FROM (SELECT roost_reached(element, path[place:]) AS leaf, number
                      FROM jsonb_array_elements(value) WITH ORDINALITY AS e(element, number)
                      WHERE jsonb_typeof(element) = 'object' OFFSET 0) AS f WHERE leaf IS NOT NULL);
        END IF;
        value := value #> path[place:place];
    END LOOP;
    RETURN value;
END
$$;

-- Returns an object without the members whose values are missing.
CREATE OR REPLACE FUNCTION roost_object(names text[], items jsonb[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(jsonb_object_agg(name, item) FILTER (WHERE item IS NOT NULL), '{}')
    FROM unnest(names, items) AS m(name, item)
$$;

-- Returns the document with a computed field, or without the field if its value is missing.
CREATE OR REPLACE FUNCTION roost_put(document jsonb, path text[], value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL THEN
        RETURN CASE WHEN document #> path IS NULL THEN document ELSE roost_unset(document, path) END;
    END IF;
    RETURN roost_bounded(roost_set(document, path, value));
END
$$;

-- Returns the document with an object at a path, to which fields can be added. An array at the path is kept.
CREATE OR REPLACE FUNCTION roost_opened(document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(document #> path) IN ('object', 'array') THEN RETURN document; END IF;
    RETURN roost_set(document, path, '{}');
END
$$;

-- Returns the document that a stage creates. Raises RS102 if the value isn't an object.
CREATE OR REPLACE FUNCTION roost_root(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF roost_rank(value) = 4 THEN RETURN value; END IF;
    RAISE EXCEPTION '''newRoot'' expression must evaluate to an object, but resulting value was of type %',
        COALESCE(jsonb_typeof(value), 'missing') USING ERRCODE = 'RS102';
END
$$;

-- Returns the week of the year. Weeks begin on Sunday, and the days before the first Sunday are week 0.
CREATE OR REPLACE FUNCTION roost_week(moment timestamp) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (extract(doy FROM moment)::int + 6 - extract(dow FROM moment)::int) / 7
$$;

-- Returns the start of the period of `size` units that contains a time. Periods are counted from the year 2000, weeks
-- from the first `first_day` in it (ISO 8601: 1 for Monday to 7 for Sunday).
CREATE OR REPLACE FUNCTION roost_truncated(moment timestamp, unit text, size int, first_day int) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    origin timestamp := '2000-01-01';
    length double precision;
    months bigint;
BEGIN
    IF unit IN ('year', 'quarter', 'month') THEN
        size := size * CASE unit WHEN 'year' THEN 12 WHEN 'quarter' THEN 3 ELSE 1 END;
        months := (extract(year FROM moment)::bigint - 2000) * 12 + extract(month FROM moment)::bigint - 1;
        RETURN origin + make_interval(months => (floor(months::numeric / size) * size)::int);
    END IF;
    IF unit = 'week' THEN
        -- January 1, 2000 was a Saturday.
        origin := origin + make_interval(days => (first_day + 1) % 7);
    END IF;
    length := size::double precision * CASE unit WHEN 'week' THEN 604800 WHEN 'day' THEN 86400 WHEN 'hour' THEN 3600
        WHEN 'minute' THEN 60 WHEN 'second' THEN 1 ELSE 0.001 END;
    RETURN date_trunc('milliseconds', origin + make_interval(
        secs => floor(round(extract(epoch FROM moment - origin)::numeric * 1000) / (length * 1000)::numeric)::float8 * length)
        + interval '0.1 milliseconds');
END
$$;

-- Returns a time plus an amount of units. Raises RS102 for a fractional or too large amount.
CREATE OR REPLACE FUNCTION roost_later(moment timestamp, unit text, amount double precision) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF amount <> floor(amount) OR abs(amount) > 1e15 THEN
        RAISE EXCEPTION 'The amount added to a date must be a whole number in range' USING ERRCODE = 'RS102';
    END IF;
    IF unit IN ('hour', 'minute', 'second', 'millisecond') THEN
        RETURN moment + amount * CASE unit WHEN 'hour' THEN interval '1 hour' WHEN 'minute' THEN interval '1 minute'
            WHEN 'second' THEN interval '1 second' ELSE interval '1 millisecond' END;
    ELSIF abs(amount) > 4000000 THEN
        RAISE EXCEPTION 'The amount added to a date must be a whole number in range' USING ERRCODE = 'RS102';
    END IF;
    RETURN moment + CASE unit WHEN 'year' THEN make_interval(months => amount::int * 12)
        WHEN 'quarter' THEN make_interval(months => amount::int * 3)
        WHEN 'month' THEN make_interval(months => amount::int)
        WHEN 'week' THEN make_interval(days => amount::int * 7) ELSE make_interval(days => amount::int) END;
END
$$;

-- Returns the number of boundaries between units that lie between two times, negative if `past` is earlier.
CREATE OR REPLACE FUNCTION roost_borders(start timestamp, past timestamp, unit text, first_day int) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    one timestamp := roost_truncated(start, unit, 1, first_day);
    other timestamp := roost_truncated(past, unit, 1, first_day);
    months bigint;
BEGIN
    IF unit IN ('year', 'quarter', 'month') THEN
        months := (extract(year FROM other) - extract(year FROM one)) * 12 + extract(month FROM other) - extract(month FROM one);
        RETURN months / CASE unit WHEN 'year' THEN 12 WHEN 'quarter' THEN 3 ELSE 1 END;
    END IF;
    RETURN round(extract(epoch FROM other - one)::numeric * 1000 / CASE unit WHEN 'week' THEN 604800000 WHEN 'day' THEN 86400000
        WHEN 'hour' THEN 3600000 WHEN 'minute' THEN 60000 WHEN 'second' THEN 1000 ELSE 1 END);
END
$$;

-- Returns the date that a text denotes, or NULL if it denotes none. The groups of `pattern` are the year, the month and
-- so on, as listed in `letters`. Without a pattern, the text is read as ISO 8601. `zone` is a name or an offset in
-- minutes for texts without a zone.
CREATE OR REPLACE FUNCTION roost_parsed(value jsonb, pattern text, letters text, zone text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := CASE WHEN jsonb_typeof(value) = 'string' THEN value #>> '{}' END;
    part text[] := regexp_match(content, pattern);
    found_part text;
    moment timestamp;
    day text;
    iso text := '';
BEGIN
    IF pattern IS NULL THEN
        moment := roost_moment(content);
    ELSIF part IS NOT NULL AND strpos(letters, 'Y') > 0 THEN
        part := part || ARRAY['01', '01', '00', '00', '00', '0', ''];
        FOR number IN 1..7 LOOP
            -- A specifier that the format lacks gets its default, which follows the groups of the pattern.
            found_part := part[CASE WHEN strpos(letters, substr('mdHMSLz', number, 1)) > 0
                THEN strpos(letters, substr('mdHMSLz', number, 1)) ELSE length(letters) + number END];
            iso := iso || substr('--T::.', number, 1) || CASE WHEN number < 6 THEN lpad(found_part, 2, '0') ELSE found_part END;
        END LOOP;
        content := part[strpos(letters, 'Y')] || iso;
        moment := roost_moment(content);
        day := part[NULLIF(strpos(letters, 'j'), 0)];
        IF day IS NOT NULL THEN
            IF day::int NOT BETWEEN 1 AND 366 THEN RETURN NULL; END IF;
            moment := moment + make_interval(days => day::int - 1);
        END IF;
    END IF;
    IF zone IS NOT NULL AND content !~ '[Tt ].*(Z|z|[+-][0-9:]+)$' THEN
        moment := CASE WHEN zone ~ '^-?[0-9]+$' THEN moment - make_interval(mins => zone::int)
            ELSE moment AT TIME ZONE zone AT TIME ZONE 'UTC' END;
    END IF;
    RETURN roost_date(moment);
END
$$;

-- Returns the value by which a lookup compares a value: the object id for a pointer, otherwise the value itself.
CREATE OR REPLACE FUNCTION roost_key(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Pointer' THEN value -> 'objectId'
        ELSE value END
$$;

-- Returns the value by which a lookup in one class compares a value, or NULL for a pointer to another class.
CREATE OR REPLACE FUNCTION roost_key(value jsonb, class_name text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Pointer'
        THEN CASE WHEN value ->> 'className' = class_name THEN value -> 'objectId' END ELSE value END
$$;

-- Returns the values by which a lookup compares a field: its value, or the elements of an array. Pointers to other
-- classes than `class_name` are left out, unless that is NULL. A missing field counts as null.
CREATE OR REPLACE FUNCTION roost_keys(value jsonb, class_name text) RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'array' THEN value := jsonb_build_array(value); END IF;
    RETURN ARRAY(SELECT key FROM (
        SELECT CASE WHEN class_name IS NULL THEN roost_key(element) ELSE roost_key(element, class_name) END AS key
        FROM jsonb_array_elements(value) AS e(element)) AS k WHERE key IS NOT NULL);
END
$$;

-- Returns a pointer as the text that MongoDB stores, such as Person$id, or NULL for any other value.
CREATE OR REPLACE FUNCTION roost_stored_pointer(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Pointer'
        THEN to_jsonb((value ->> 'className') || '$' || (value ->> 'objectId')) END
$$;

-- Returns the id in a pointer's text as MongoDB stores it, if the text begins with `class_name`, which includes the
-- dollar sign. Returns NULL for any other value.
CREATE OR REPLACE FUNCTION roost_stored_id(value jsonb, class_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'string' AND starts_with(value #>> '{}', class_name)
        THEN substr(value #>> '{}', length(class_name) + 1) END
$$;

-- Returns the document without the value at a path. An array element becomes null, so that the others keep their
-- indexes.
CREATE OR REPLACE FUNCTION roost_unset(document jsonb, path text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(document #> path[:cardinality(path) - 1]) = 'array' THEN
        CASE WHEN document #> path IS NULL THEN document ELSE jsonb_set(document, path, 'null') END
    ELSE document #- path END
$$;

-- Returns the values that a path leads to, as in MongoDB: in an object to the member, in an array to the member of
-- every element that is an object and, if the step is a number, to the element at this index. A NULL leaf stands for a
-- branch that ends before the path. `is_whole` is true for an array that was reached by its index, and so doesn't match
-- by its elements.
CREATE OR REPLACE FUNCTION roost_leaves(
    value jsonb, path text[], is_element boolean DEFAULT false, OUT leaf jsonb, OUT is_whole boolean)
RETURNS SETOF record LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 2 AS $$
BEGIN
    WHILE jsonb_typeof(value) = 'object' AND cardinality(path) > 0 LOOP
        value := value -> path[1];
        path := path[2:];
        is_element := false;
    END LOOP;
    is_whole := false;
    IF cardinality(path) = 0 THEN
        leaf := value;
        is_whole := is_element AND jsonb_typeof(value) = 'array';
        RETURN NEXT;
    ELSIF jsonb_typeof(value) = 'array' THEN
        -- Proceeds step by step and keeps equal values only once per step. If numbers are indexes as well as names of
        -- members, the number of branches to a value can grow exponentially.
        RETURN QUERY WITH RECURSIVE reached(depth, v, is_place) AS (
            SELECT 0, value, is_element
          UNION
            SELECT depth + 1, next.v, next.is_place FROM reached, LATERAL (
                SELECT reached.v -> path[depth + 1], false WHERE jsonb_typeof(reached.v) = 'object'
              UNION ALL
                SELECT reached.v -> CASE WHEN path[depth + 1] ~ '^(0|[1-9][0-9]{0,8})$' THEN path[depth + 1]::int END, true
                WHERE jsonb_typeof(reached.v) = 'array' AND CASE WHEN path[depth + 1] ~ '^(0|[1-9][0-9]{0,8})$'
                    THEN path[depth + 1]::int < jsonb_array_length(reached.v) END
              UNION ALL
                SELECT element -> path[depth + 1], false
                FROM jsonb_array_elements(CASE WHEN jsonb_typeof(reached.v) = 'array' THEN reached.v END) AS e(element)
                WHERE jsonb_typeof(element) = 'object') AS next(v, is_place)
            WHERE depth < cardinality(path))
        SELECT CASE WHEN depth = cardinality(path) THEN v END,
            depth = cardinality(path) AND is_place AND jsonb_typeof(v) = 'array'
        FROM reached WHERE depth = cardinality(path)
            OR (COALESCE(jsonb_typeof(v) NOT IN ('object', 'array'), true) AND NOT is_place);
    ELSIF NOT is_element THEN
        RETURN NEXT;
    END IF;
END
$$;

-- Returns a value and, if it is an array, its elements. Given a path, does this for each value that the path leads to.
CREATE OR REPLACE FUNCTION roost_elements(value jsonb) RETURNS SETOF jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT value UNION ALL SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(value) = 'array' THEN value END)
$$;
CREATE OR REPLACE FUNCTION roost_elements(container jsonb, path jsonpath) RETURNS SETOF jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT v FROM jsonb_path_query(container, path) AS l(leaf), LATERAL (SELECT leaf AS v UNION ALL
        SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(leaf) = 'array' THEN leaf END)) AS c
$$;

-- Returns a text without accents.
CREATE OR REPLACE FUNCTION roost_unaccented(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT regexp_replace(normalize(value, NFD), '[\u0300-\u036F]', '', 'g')
$$;

-- Marks every upper-case letter of a text, so that a dictionary that ignores case distinguishes it from the lower-case
-- one. The mark precedes the letter and has no vowel, since the stem of a word depends on its vowels.
CREATE OR REPLACE FUNCTION roost_cased(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT regexp_replace(value, '([[:upper:]])', 'zqzq\1', 'g')
$$;

-- Folds the letter case of a user name or mail address by Unicode's simple case folding (14.0.0), which is the same in
-- every cluster, whatever its lc_ctype and libraries. Values over 2,704 bytes, which no index can hold, are folded in
-- ASCII only, so that the time of a call is bounded.
CREATE OR REPLACE FUNCTION roost_fold(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF octet_length(name) = char_length(name) OR octet_length(name) > 2704 THEN
        RETURN lower(name COLLATE "C");
    END IF;
    RETURN lower(translate(name,
        'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽſƁƂƄƆƇƉ'
        'ƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌ'
        'ɎͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПР'
        'СТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐ'
        'ԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᏸᏹᏺᏻᏼᏽᲀ'
        'ᲁᲂᲃᲄᲅᲆᲇᲈᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚ'
        'ṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẛẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮ'
        'ἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺΆᾼιῈΈῊΉῌῘῙῚΊῨῩῪΎῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⒶⒷⒸ'
        'ⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚ'
        'ⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒ'
        'ꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕ'
        'ꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟'
        '𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔'
        '𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅'
        '𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
        'μàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžsɓƃƅɔƈɖ'
        'ɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍ'
        'ɏιͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗβθφπϙϛϝϟϡϣϥϧϩϫϭϯκρθεϸϲϻͻͼͽѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопр'
        'стуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑ'
        'ԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭᏰᏱᏲᏳᏴᏵв'
        'досттъѣꙋაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛ'
        'ṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕṡßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦ'
        'ἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰάᾳιὲέὴήῃῐῑὶίῠῡὺύῥὸόὼώῳωkåⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⓐⓑⓒ'
        'ⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛ'
        'ⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓ'
        'ꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅ'
        'ᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇'
        '𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔'
        '𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧'
        '𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃') COLLATE "C");
END
$$;

-- Returns a replacement for a value that takes too many bytes: its type, its numbers of bytes and members, and its
-- beginning. Only parts of a long array are converted to text, and its bytes are estimated from them: each access reads
-- the whole value from the table, and converting all of it takes several times as long. Once the statement has run for
-- a second, values are described by their stored bytes alone.
CREATE OR REPLACE FUNCTION roost_shortened(value jsonb, type text, most int) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 AS $$
DECLARE
    count bigint;
    bytes bigint;
    part jsonb;
    start text;
BEGIN
    IF clock_timestamp() - statement_timestamp() > interval '1 second' THEN
        RETURN jsonb_build_object(
            '__type', 'Shortened', 'type', type, 'bytes', pg_column_size(value), 'start', '');
    END IF;
    IF type = 'Array' THEN
        count := jsonb_path_query_first(value, '$.size()')::bigint;
    ELSIF type = 'Bytes' THEN
        start := value ->> 'base64';
        bytes := octet_length(start)::bigint * 3 / 4;
    END IF;
    IF count > 64 + most THEN
        part := jsonb_path_query_array(value, '$[0 to 15, $middle to $end]', jsonb_build_object(
            'middle', count / 2, 'end', count / 2 + 15));
        bytes := octet_length(part::text)::bigint * count / 32;
        start := jsonb_path_query_array(part, '$[0 to 15]')::text;
        IF length(start) <= most THEN
            -- An element and its separator take at least two characters.
            start := jsonb_path_query_array(value, '$[0 to $last]', jsonb_build_object('last', most / 2))::text;
        END IF;
    ELSIF start IS NULL THEN
        start := value::text;
        bytes := octet_length(start);
        IF type = 'Object' AND starts_with(start, '{') THEN
            count := (SELECT count(*) FROM jsonb_object_keys(value));
        END IF;
    END IF;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        '__type', 'Shortened', 'type', type, 'bytes', bytes, 'count', count, 'start', left(start, most)));
END
$$;

-- Returns the number of objects of classes, and the bytes of their tables and indexes. The number is estimated for
-- tables of more than `largest` bytes, for the rest once the statement has run for `longest`, and for locked tables.
-- Without statistics it is counted, unless the table is locked. Classes without a table are left out.
CREATE OR REPLACE FUNCTION roost_class_counts(tables text[], largest bigint, longest interval)
RETURNS TABLE (place int, objects bigint, estimated boolean, bytes bigint, index_bytes bigint)
LANGUAGE plpgsql STABLE SET lock_timeout = '20ms' AS $$
DECLARE
    class regclass;
    density double precision;
    -- Includes locks that are still waited for, since they block later requests, too.
    locked oid[] := ARRAY(SELECT relation FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL);
BEGIN
    FOR i IN 1..cardinality(tables) LOOP
        BEGIN
            place := i;
            class := to_regclass(tables[i]);
            -- A table that was never vacuumed or analyzed has no density.
            SELECT CASE WHEN reltuples >= 0 AND relpages > 0 THEN reltuples / relpages END INTO density
            FROM pg_class WHERE oid = class;
            CONTINUE WHEN NOT FOUND;
            IF class = ANY (locked) THEN
                RAISE lock_not_available;
            END IF;
            bytes := pg_table_size(class);
            index_bytes := pg_indexes_size(class);
            estimated := density IS NOT NULL AND (pg_relation_size(class) > largest
                OR clock_timestamp() - statement_timestamp() > longest);
            IF estimated THEN
                objects := density * (pg_relation_size(class) / current_setting('block_size')::int);
            ELSE
                EXECUTE format('SELECT count(*) FROM %s', class) INTO objects;
            END IF;
            RETURN NEXT;
        EXCEPTION WHEN undefined_table OR internal_error THEN
            -- The table was dropped meanwhile.
            NULL;
        WHEN lock_not_available THEN
            SELECT greatest(reltuples, 0), true, relpages::bigint * current_setting('block_size')::int, 0
            INTO objects, estimated, bytes, index_bytes FROM pg_class WHERE oid = class;
            RETURN NEXT;
        END;
    END LOOP;
END
$$;
