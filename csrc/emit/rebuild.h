// The callables that residual code uses to make objects again without running user code: instances without __init__,
// named tuples, functions, partials.
#pragma once
#include "python/ref.h"

namespace minidynamo {

// Borrowed, alive for the life of the process.
PyObject* rebuild_instance_callable();  // (class, items, attributes: dict) -> instance: see instance_parts()
PyObject* fill_instance_callable();     // (instance, items or None, attributes: dict)
PyObject* rebuild_tuple_callable();     // (class, items: tuple) -> instance of a C class derived from tuple
PyObject* rebuild_function_callable();  // (code, globals, name, defaults, kwdefaults, closure, annotations, qualname,
                                        // dict, module, doc[, type parameters[, annotate]])
PyObject* make_function_callable();     // (code[, globals or the module whose they are]): a plain function, by
                                        // default with the names of the frame that runs
PyObject* rebuild_partial_callable();   // (func, args, keywords, dict or None)
// (class, args, attributes: dict or None, cause, context, suppress_context, traceback[, args if __new__ takes others])
// -> exception
PyObject* rebuild_exception_callable();
PyObject* make_method_callable();      // (function, self) -> bound method, of what cannot be called too
PyObject* bind_callable();             // (descriptor of C code, object): the descriptor bound to the object
PyObject* dead_reference_callable();   // () -> a weak reference to what is gone
PyObject* rebuild_object_callable();   // (callable, args) -> callable(*args)
PyObject* call_with_callable();        // (callable, args, kwargs or None): callable(*args, **kwargs)
PyObject* native_iterator_callable();  // (iterable): an iterator as its builtin base makes one
PyObject* rebuild_hashed_callable();   // (keys, values or None, hashes: tuple of int): a dict, or a set
PyObject* set_like_callable();         // (set or frozenset): another that iterates in the same order
PyObject* make_set_like_callable();    // (set, other set): the first becomes as the other
PyObject* set_hashed_item_callable();  // (dict, key, value, hash)
PyObject* set_state_callable();        // (object, state): object.__setstate__(state)
// (resume function, args, started, name, qualname): if it has started, run up to where it was suspended
PyObject* rebuild_generator_callable();
PyObject* walked_iterator_callable();   // iter(view), which has given so many items
PyObject* advance_iterator_callable();  // (iterator, count): drops that many items
// (view of a dict, items behind, places beyond its end, size of the dict, steps before it), (list, index): an iterator
// that stands there.
PyObject* placed_iterator_callable();
PyObject* placed_list_iterator_callable();
PyObject* rebuild_iterator_callable();  // (type of itertools[, fields]): one that holds them
                                        // (python/objects/itertools_fields.h), or nothing
PyObject* fill_iterator_callable();     // (iterator of itertools that holds nothing, fields)
// size_of_tensor(tensor, dimension) -> int
PyObject* size_of_tensor_callable();
// compute_size((kind, operand, ...), *numbers) -> int or float: the steps of an expression (SizeStep)
PyObject* compute_size_callable();
PyObject*
special_method_callable();  // (object, name): the method of its class, bound (python/objects/context_methods.h)
PyObject* drop_traceback_callable();  // (exception, count): takes the outermost entries off its traceback

// (items, attributes) of an instance of a Python class over object or a builtin container, number or string: items is
// None, a list, dict or set of its elements, the value of what is immutable, or a tuple of arguments (deque,
// defaultdict); attributes is its __dict__ and slots as a dict. Null with a Python error set if it cannot be had.
Ref instance_parts(PyObject* instance);
// The same of one whose __dict__ is made apart from it: `attributes` are slots alone.
Ref instance_parts_but_dict(PyObject* instance);
// The attributes of an exception besides `args`: its __dict__, and the members that its C class has for values (errno,
// filename, value, code...), as a dict. Null with a Python error set if they cannot be read.
Ref exception_attributes(PyObject* exception);

}  // namespace minidynamo
