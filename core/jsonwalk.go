package core

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// A walk over JSON that encoding/json has found valid: it sees each key as it was written, so that duplicate keys and
// wrong types are noticed, and it allocates nothing for what it only passes over. None of it may be called on text
// that json.Valid has not accepted.

type jsonKind byte

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

var jsonKindNames = [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}

func (k jsonKind) String() string { return jsonKindNames[k] }

// kindOf tells what a value without surrounding blanks is.
func kindOf(v string) jsonKind {
	switch v[0] {
	case '{':
		return jsonObject
	case '[':
		return jsonArray
	case '"':
		return jsonString
	case 't', 'f':
		return jsonBool
	case 'n':
		return jsonNull
	}
	return jsonNumber
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\n' || s[i] == '\t' || s[i] == '\r') {
		i++
	}
	return i
}

// valueEnd returns the index behind the value that starts at i.
func valueEnd(s string, i int) int {
	switch s[i] {
	case '"':
		return stringEnd(s, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch s[i] {
			case '"':
				i = stringEnd(s, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(s) && strings.IndexByte(",]} \n\t\r", s[i]) < 0 {
		i++
	}
	return i
}

func stringEnd(s string, i int) int {
	for i++; ; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// eachField calls f for every member of an object, in order, until f returns false.
func eachField(obj string, f func(key, value string) bool) {
	i := skipBlanks(obj, 1)
	for obj[i] != '}' {
		end := stringEnd(obj, i)
		key := unquote(obj[i:end])
		i = skipBlanks(obj, skipBlanks(obj, end)+1) // behind the colon
		end = valueEnd(obj, i)
		if !f(key, obj[i:end]) {
			return
		}
		if i = skipBlanks(obj, end); obj[i] == ',' {
			i = skipBlanks(obj, i+1)
		}
	}
}

// eachElement calls f for every element of an array, in order, until f returns false.
func eachElement(arr string, f func(i int, value string) bool) {
	i := skipBlanks(arr, 1)
	for n := 0; arr[i] != ']'; n++ {
		end := valueEnd(arr, i)
		if !f(n, arr[i:end]) {
			return
		}
		if i = skipBlanks(arr, end); arr[i] == ',' {
			i = skipBlanks(arr, i+1)
		}
	}
}

// unquote decodes a JSON string to valid UTF-8: lone surrogates and bad bytes become U+FFFD.
func unquote(raw string) string {
	inner := raw[1 : len(raw)-1]
	if strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner) {
		return inner
	}
	var s string
	_ = json.Unmarshal([]byte(raw), &s) // raw is a valid JSON string
	return s
}
