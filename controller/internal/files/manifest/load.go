// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Stdin is the path for standard input.
const Stdin = "-"

// Object is one object and where it comes from.
type Object struct {
	*unstructured.Unstructured

	// Origin is the path and, if the file has several documents, the number of the document.
	Origin string
	// Place is where the document begins. All items of a list have that of the list.
	Place Place
}

// Place is a place in a file.
type Place struct {
	// File is the path; empty for standard input, and for objects of a cluster.
	File string
	// Line counts from 1; 0 for objects of a cluster.
	Line int
}

// UnreadableError says why a document, an item of a list, or a file is not among the objects.
type UnreadableError struct {
	Origin string
	// Place has no line for a whole file, which the cause then names.
	Place Place
	Cause error
}

// Error names the file and the line.
func (e *UnreadableError) Error() string {
	switch {
	case e.Place.Line == 0:
		return e.Cause.Error()
	case lineInError.MatchString(e.Cause.Error()):
		return fmt.Sprintf("%s: %v", e.Origin, e.Cause)
	default:
		return fmt.Sprintf("%s: line %d: %v", e.Origin, e.Place.Line, e.Cause)
	}
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// Set is what was read.
type Set struct {
	Objects []Object
	// Unreadable is what a [Loader] that goes on could not read.
	Unreadable []*UnreadableError
	// LeftOut lists the documents in folders that are not objects, and why; for people.
	LeftOut []string

	// files are the files that were read, by their resolved paths.
	files map[string]bool
}

// Limits bound what is read.
type Limits struct {
	// File is the largest size of one file in bytes, Total that of all together.
	File, Total int64
}

// DefaultLimits returns limits that are far above usual sizes, and low enough not to exhaust memory.
func DefaultLimits() Limits {
	return Limits{File: 256 << 20, Total: 256 << 20}
}

// Loader reads objects. Its methods are not safe for concurrent use.
type Loader struct {
	// Stdin is what the path "-" reads; nil if that path is not allowed.
	Stdin  io.Reader
	Limits Limits
	// GoOn keeps what can't be read in [Set.Unreadable]; without it that is an error.
	GoOn bool

	read      int64
	stdinRead bool
	// generated counts the names that objects with a generateName got.
	generated map[string]int
}

// Load reads all objects of the paths: files, folders with everything below them, and [Stdin]. In a folder, it reads
// files whose names end in .yaml, .yml or .json, in the order of their names, except for those whose name, or whose
// folder's name, begins with a dot, and except for patches of kustomize. A file that is named twice, for example by its
// folder as well, is read once. The error names all files that can't be read.
func (l *Loader) Load(paths ...string) (Set, error) {
	set := Set{files: map[string]bool{}}
	var errs []error
	for _, path := range paths {
		if err := l.loadPath(path, &set); err != nil {
			errs = append(errs, err)
		}
	}
	if !l.GoOn {
		for _, unreadable := range set.Unreadable {
			errs = append(errs, unreadable)
		}
	}
	return set, errors.Join(errs...)
}

// host returns whose address it is: the rest may have secrets.
func host(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Scheme + "://" + u.Host
	}
	return "an address"
}

func (l *Loader) loadPath(path string, set *Set) error {
	if path == Stdin {
		return l.loadStdin(set)
	}
	if strings.Contains(path, "://") {
		return fmt.Errorf("%s: addresses are not read: download the file with curl, or the folder with git clone, and name that", host(path))
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return l.loadFile(path, set, false)
	}
	return l.loadFolder(path, set)
}

// loadFolder reads the files below a folder.
func (l *Loader) loadFolder(path string, set *Set) error {
	var files []string
	patches := patches{}
	walkErr := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			// WalkDir goes on behind a folder that can't be read.
			set.miss(name, err)
		case name != path && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case isManifest(name):
			file, err := isFile(name, entry)
			if err != nil {
				set.miss(name, err)
			}
			if file {
				files = append(files, name)
				patches.add(name)
			}
		}
		return nil
	})
	if walkErr != nil {
		return walkErr
	}
	before, again := len(set.Objects)+len(set.Unreadable), false
	for _, name := range files {
		if of := patches[realPath(name)]; of != "" {
			set.LeftOut = append(set.LeftOut, fmt.Sprintf("%s: is a patch of %s; give the output of `kubectl kustomize` instead", name, of))
			continue
		}
		again = again || set.has(name)
		if err := l.loadFile(name, set, true); err != nil {
			return err
		}
	}
	if len(set.Objects)+len(set.Unreadable) == before && !again {
		return fmt.Errorf("%s: no Kubernetes objects found in files whose names end in .yaml, .yml or .json; name a file, or another folder", path)
	}
	return nil
}

// isFile follows symbolic links to files, since mounted ConfigMaps consist of them. Links to
// folders are not followed: they may lead in circles.
func isFile(name string, entry fs.DirEntry) (bool, error) {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular(), nil
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular(), err
}

func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name)))
}

func (l *Loader) loadStdin(set *Set) error {
	if l.Stdin == nil || l.stdinRead {
		return errors.New("standard input (-) can be read only once: give one - or files")
	}
	l.stdinRead = true
	return l.load("", l.Stdin, set, false)
}

// loadFile reads a file.
func (l *Loader) loadFile(path string, set *Set, lenient bool) error {
	if set.has(path) {
		return nil
	}
	set.files[realPath(path)] = true
	file, err := os.Open(path)
	if err != nil {
		set.miss(path, err)
		return nil
	}
	return errors.Join(l.load(path, file, set, lenient), file.Close())
}

// has reports whether a file was read.
func (s *Set) has(path string) bool { return s.files[realPath(path)] }

// realPath returns the path of a file without symbolic links, which identifies it.
func realPath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return path
}

// load reads one file; the path is empty for standard input. If lenient is set, documents that are not objects are left
// out, and there need not be any. The error is about more than the file.
func (l *Loader) load(path string, r io.Reader, set *Set, lenient bool) error {
	origin := cmp.Or(path, "standard input")
	limits := l.Limits
	if limits == (Limits{}) {
		limits = DefaultLimits()
	}
	// One byte more, to notice a file that is larger than the limit.
	data, err := io.ReadAll(io.LimitReader(r, min(limits.File, limits.Total-l.read)+1))
	if err != nil {
		set.miss(path, fmt.Errorf("%s: %w", origin, err))
		return nil
	}
	l.read += int64(len(data))
	switch {
	case int64(len(data)) > limits.File:
		set.miss(path, fmt.Errorf("%s: is larger than %d bytes, the limit for one file; split it", origin, limits.File))
		return nil
	case l.read > limits.Total:
		return fmt.Errorf("%s: all files together are larger than %d bytes; give fewer files at a time", origin, limits.Total)
	}
	// A template that renders to nothing leaves comments and separators.
	if len(bytes.TrimSpace(data)) == 0 && !lenient {
		return fmt.Errorf("%s: is empty: no Kubernetes objects found in it; look at what was to write it", origin)
	}
	documents := split(data)
	for i, document := range documents {
		location := origin
		if len(documents) > 1 {
			location = fmt.Sprintf("%s: document %d", origin, i+1)
		}
		l.add(set, Object{Origin: location, Place: Place{path, document.line}}, document, lenient)
	}
	return nil
}

// add adds the objects of a document, which are to be like the given one.
func (l *Loader) add(set *Set, like Object, d document, lenient bool) {
	miss := func(err error) {
		place := like.Place
		if line := lineInError.FindStringSubmatch(err.Error()); line != nil {
			place.Line, _ = strconv.Atoi(line[1]) // It has few digits.
		}
		set.Unreadable = append(set.Unreadable, &UnreadableError{like.Origin, place, err})
	}
	value, err := d.decode()
	if err == nil {
		err = objectsOf(value, func(object *unstructured.Unstructured, err error) {
			if err != nil {
				miss(err)
				return
			}
			l.name(object)
			like.Unstructured = object
			set.Objects = append(set.Objects, like)
		})
	}
	var foreign notAnObjectError
	switch {
	case err == nil:
	case lenient && errors.As(err, &foreign):
		if isKustomization(like.Place.File) {
			err = errKustomize
		}
		set.LeftOut = append(set.LeftOut, fmt.Sprintf("%s: %v", like.Origin, err))
	default:
		miss(err)
	}
}

// maxGenerated is how much of a generateName Kubernetes uses.
const maxGenerated = 58

// name gives an object with a generateName a name, as the API server would: here it ends in the number of the object,
// so that every scan of the same files gives the same.
func (l *Loader) name(object *unstructured.Unstructured) {
	if object.GetName() != "" {
		return
	}
	if l.generated == nil {
		l.generated = map[string]int{}
	}
	begin := object.GetGenerateName()
	key := object.GroupVersionKind().GroupKind().String() + "/" + begin
	l.generated[key]++
	object.SetName(fmt.Sprintf("%s%05d", begin[:min(len(begin), maxGenerated)], l.generated[key]))
}

// miss records a file that can't be read. The error names it.
func (s *Set) miss(path string, err error) {
	s.Unreadable = append(s.Unreadable, &UnreadableError{path, Place{path, 0}, err})
}
