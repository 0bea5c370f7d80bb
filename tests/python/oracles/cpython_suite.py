"""CPython's own test suite under capture: each module must have the same outcome, test by test, as without.

    python tests/python/oracles/cpython_suite.py                          # all of MODULES, every frame captured
    python tests/python/oracles/cpython_suite.py test_iter test_list      # some
    python tests/python/oracles/cpython_suite.py --breaks 5 --seed 1      # a graph break before every fifth instruction as well
    python tests/python/oracles/cpython_suite.py --mode global            # global capture as users have it, without stress

A module runs in a process of its own, once plainly and once captured. Printed are the tests whose outcome differs and both times.
A test whose outcome differs may owe that to torch, or to any frame hook: the module runs a third time beside both, uncaptured, and a
test that has the captured outcome there too is no difference of ours. Tests that a capture cannot leave the same by design are in
EXEMPT, each with its reason. Exit status 1: a difference that is not exempt.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import importlib
import multiprocessing
import multiprocessing.resource_tracker
import os
import pathlib
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

# A module that this Python does not have has no tests.
MODULES = """
test_generators test_iter test_list test_dict test_set test_tuple test_class test_exceptions test_with test_contextlib
test_dataclasses test_enum test_functools test_itertools test_collections test_deque test_operator test_sort test_fstring
test_format test_unpack test_unpack_ex test_extcall test_keywordonlyarg test_patma test_named_expressions test_scope test_super
test_property test_slice test_range test_builtin test_augassign test_int test_float test_math test_heapq test_copy test_weakref
test_coroutines test_asyncgen test_yield_from test_raise test_types test_userdict test_abc test_listcomps test_genexps
test_global test_decorators test_compare test_statistics test_json test_re test_grammar test_funcattrs test_metaclass
test_isinstance test_typing test_ordered_dict test_except_star test_call test_frame test_descr test_code test_enumerate
test_struct test_dynamic test_pickle test_inspect test_traceback test_xml_etree test_calendar test_difflib test_decimal
test.test_asyncio.test_ssl test.test_asyncio.test_taskgroups test_opcache test_sax test_iterlen test_module test_genericclass
test_platform test__xxsubinterpreters test_array test_cgitb test_dis test_finalization test_imp test_memoryio test_memoryview
test_optparse test.test_asyncio.test_base_events test.test_asyncio.test_buffered_proto test.test_asyncio.test_context
test.test_asyncio.test_futures test.test_asyncio.test_futures2 test.test_asyncio.test_locks test.test_asyncio.test_pep492
test.test_asyncio.test_proactor_events test.test_asyncio.test_protocols test.test_asyncio.test_queues
test.test_asyncio.test_selector_events test.test_asyncio.test_sendfile test.test_asyncio.test_server
test.test_asyncio.test_sock_lowlevel test.test_asyncio.test_sslproto test.test_asyncio.test_streams
test.test_asyncio.test_threads test.test_asyncio.test_timeouts test.test_asyncio.test_transports
test.test_asyncio.test_unix_events test.test_asyncio.test_waitfor test.test_future_stmt.test_future
test.test_future_stmt.test_future_flags test.test_future_stmt.test_future_multiple_features
test.test_future_stmt.test_future_multiple_imports test.test_future_stmt.test_future_single_import test___all__ test__locale
test__opcode test__osx_support test_abstract_numbers test_aifc test_argparse test_ast test_atexit test_audioop test_base64
test_baseexception test_bigaddrspace test_binascii test_binop test_bisect test_bool test_bufio test_bytes test_cgi
test_charmapcodec test_cmath test_cmd test_code_module test_codeccallbacks test_codecs test_codeop test_colorsys test_compile
test_complex test_configparser test_contains test_context test_contextlib_async test_copyreg test_cppext test_crypt test_csv
test_datetime test_dbm test_dbm_dumb test_defaultdict test_descrtut test_dict_version test_dictcomps test_dictviews test_doctest
test_doctest2 test_dynamicclassattribute test_eof test_errno test_exception_group test_exception_hierarchy
test_exception_variations test_file test_file_eintr test_filecmp test_fileinput test_fileutils test_flufl test_fnmatch
test_fractions test_frozen test_generator_stop test_genericalias test_genericpath test_getopt test_getpass test_getpath
test_gettext test_glob test_graphlib test_grp test_gzip test_hmac test_html test_htmlparser test_http_cookiejar
test_http_cookies test_imghdr test_index test_int_literal test_interpreters test_ipaddress test_keyword test_linecache
test_lltrace test_locale test_long test_longexp test_mailcap test_marshal test_mimetypes test_minidom test_modulefinder
test_netrc test_ntpath test_numeric_tower test_opcodes test_osx_env test_peepholer test_pep646_syntax test_picklebuffer
test_pickletools test_pipes test_pkg test_pkgutil test_plistlib test_popen test_positional_only_arg test_posixpath test_pow
test_pprint test_print test_pstats test_pulldom test_pwd test_py_compile test_pyclbr test_pyexpat test_quopri test_random
test_reprlib test_resource test_richcmp test_rlcompleter test_runpy test_sched test_script_helper test_secrets test_setcomps
test_shelve test_shlex test_sndhdr test_spwd test_stable_abi_ctypes test_stat test_strftime test_string test_string_literals
test_stringprep test_strptime test_strtod test_structseq test_subclassinit test_sunau test_sundry test_symtable test_syntax
test_sysconfig test_syslog test_tabnanny test_tempfile test_textwrap test_threadedtempfile test_threading_local
test_threadsignals test_time test_timeit test_tokenize test_tomllib test_type_annotations test_type_comments test_typechecks
test_unary test_unicode_file test_unicode_file_functions test_unicode_identifiers test_univnewlines test_urllib
test_urllib_response test_urlparse test_userlist test_userstring
test.test_asyncio.test_events test.test_asyncio.test_runners test.test_asyncio.test_subprocess test.test_asyncio.test_tasks
test.test_inspect.test_inspect test_asynchat test_asyncore test_audit test_bdb test_bigmem test_buffer test_bz2
test_c_locale_coercion test_capi test_cmd_line test_cmd_line_script test_codecencodings_cn test_codecencodings_hk
test_codecencodings_iso2022 test_codecencodings_jp test_codecencodings_kr test_codecencodings_tw test_codecmaps_cn
test_codecmaps_hk test_codecmaps_jp test_codecmaps_kr test_codecmaps_tw test_compileall test_cprofile test_crashers test_ctypes
test_distutils test_docxmlrpc test_eintr test_email test_embed test_ensurepip test_epoll test_faulthandler test_fcntl
test_fileio test_fork1 test_ftplib test_gc test_hash test_hashlib test_httplib test_httpservers test_idle test_imaplib
test_import test_importlib test_io test_largefile test_lib2to3 test_logging test_lzma test_mailbox test_mmap test_multibytecodec
test_multiprocessing_main_handling test_nis test_nntplib test_openpty test_os test_pathlib test_pdb test_peg_generator test_poll
test_poplib test_posix test_profile test_pty test_pydoc test_queue test_readline test_repl test_robotparser test_select
test_selectors test_shutil test_signal test_site test_smtpd test_smtplib test_source_encoding test_sqlite3 test_ssl
test_subprocess test_support test_sys test_sys_setprofile test_sys_settrace test_tarfile test_tcl test_telnetlib test_termios
test_thread test_threading test_tools test_trace test_tracemalloc test_ttk_textonly test_tty test_turtle test_type_cache
test_ucn test_unicode test_unicodedata test_unittest test_unparse test_urllib2 test_urllib2_localnet test_utf8_mode
test_utf8source test_uu test_uuid test_venv test_wait3 test_wait4 test_warnings test_wave test_weakset test_webbrowser
test_wsgiref test_xdrlib test_xml_dom_minicompat test_xml_etree_c test_xmlrpc test_xxlimited test_xxtestfuzz test_zipapp
test_zipfile test_zipimport test_zipimport_support test_zlib test_zoneinfo
test__colorize test__interpchannels test__interpreters test__xxinterpchannels test_compiler_assemble test_compiler_codegen
test_dbm_sqlite3 test_free_threading test_generated_cases test_math_property test_monitoring test_optimizer test_perf_profiler
test_perfmaps test_str test_type_aliases test_type_params
""".split()  # noqa: SIM905

# Modules that run in seconds: a part for every day.
SMALL = """
test_iter test_list test_set test_tuple test_class test_with test_contextlib test_unpack test_unpack_ex test_extcall
test_keywordonlyarg test_named_expressions test_super test_property test_slice test_augassign test_raise test_userdict test_abc
test_listcomps test_genexps test_global test_decorators test_compare test_funcattrs test_metaclass test_isinstance test_yield_from
""".split()  # noqa: SIM905

# Pattern of test ids -> why they cannot be the same.
DEATH = "waits for the death of an object that a trace, or the frame that CPython made for the call, still holds"
FRAMES = "looks at frames, which residual code has others of, without the locals that it does not need"
COUNTS = "counts references, to which a trace and what it keeps add theirs, or asks for an object's size in memory"
COLLECTOR = "asks the garbage collector for all objects, or how many there are, and a trace makes and keeps some"
PROCESSES = "starts an interpreter and looks at its state, in which torch has been imported"
SET_EXCEPTION = "sets the exception that is handled by a function of C for tests"
CODE = "looks at what the interpreter makes of the bytecode of a function that it has run often, which captured ones are not"
SUBINTERPRETER = "a subinterpreter, in which torch cannot be imported, writes so"
RESUMED = "hears of the resume function that goes on after the call that sets the trace function, or that an exception passes"
MEMORY = "memory ends at an allocation that a capture makes"
EQUAL_CONSTANTS = "tells equal strings or bytes apart, which are constants to a capture"
WRITES = "listens to each write to a dict, of which residual code makes the last one of each key"
EXEMPT: dict[str, str] = {
    "test.test_generators.SignalAndYieldFromTest.test_raise_and_yield_from": "a signal has to arrive between two C calls",
    "*.test_denial_of_service_prevented_int_to_str": "skips itself where the process is slow",
    "*.test_denial_of_service_prevented_str_to_int": "skips itself where the process is slow",
    "test.test_weakref.ReferencesTestCase.test_cfunction": DEATH,
    "test.test_weakref.ReferencesTestCase.test_ref_reuse": DEATH,
    "test.test_frame.FrameAttrsTest.test_locals": FRAMES,
    "test.test_descr.ClassPropertiesAndMethods.test_slots": COUNTS,
    "test.test_code.CoExtra.test_free_called": "is told of the end of any code object that has data, which captured ones have",
    "test.test_struct.StructTest.test__struct_reference_cycle_cleaned_up": DEATH,
    "test.test_inspect.test_inspect.TestGetGeneratorState.test_getgeneratorlocals": FRAMES,
    "test.test_traceback.MiscTracebackCases.test_clear": FRAMES,
    "test.test_traceback.TestTracebackException.test_comparison_params_variations": FRAMES,
    "test.test_traceback.TestTracebackException.test_print": FRAMES,
    "test.test_traceback.TracebackCases.test_print_traceback_at_exit": DEATH,
    "test.test_asyncio.test_ssl.TestSSL.test_create_connection_memory_leak": DEATH,
    "test.test__xxsubinterpreters.ChannelReleaseTests.test_close_if_unassociated": "an object's end leaves an error set",
    "test.test_array.*.test_sizeof_with_buffer": COUNTS,
    "test.test_cgitb.TestCgitb.test_html": FRAMES,
    "test.test_cgitb.TestCgitb.test_text": FRAMES,
    "test.test_dis.*.test_*_specialize": CODE,
    "test.test_dis.*.test_show_caches": CODE,
    "test.test_dis.*.test_super_instructions": CODE,
    "test.test_dis.DisTests.test_disassemble_generator": FRAMES,
    "test.test_finalization.SimpleFinalizationTest.test_non_gc_resurrect": DEATH,
    "test.test_memoryview.*.test_get*": COUNTS,
    "test.test_asyncio.test_tasks.*.test_log_destroyed_pending_task": DEATH,
    "test.test_capi.test_misc.CAPITest.test_exc_info": SET_EXCEPTION,
    "test.test_capi.test_misc.CAPITest.test_exception": SET_EXCEPTION,
    "test.test_capi.test_misc.Test_Pep523API.test_inlined_binary_subscr": "has a frame hook of its own, which counts frames",
    "*ctypes.*test_memfunctions.MemFunctionsTest.test_string_at": COUNTS,
    "test.test_faulthandler.FaultHandlerTests.test_dump_traceback_threads*": FRAMES,
    "test.test_gc.GCCallbackTests.test_collect_garbage": COLLECTOR,
    "test.test_gc.GCTests.test_dict": COLLECTOR,
    "test.test_gc.GCTests.test_frame": COLLECTOR,
    "test.test_gc.GCTests.test_get_count": COLLECTOR,
    "test.test_gc.GCTests.test_heap_size": COLLECTOR,
    "test.test_gc.GCTests.test_resurrection_does_not_block_cleanup_of_other_objects": COLLECTOR,
    "test.test_gc.GCTests.test_saveall": COLLECTOR,
    "test.test_gc.GCTogglingTests.test_bug1055820*": COLLECTOR,
    "test.test_io.CSignalsTest.test_reentrant_write_*": "a signal has to arrive in the middle of one write of many",
    "test.test_os.FileTests.test_rename": COUNTS,
    "test.test_os.TestScandir.test_resource_warning": DEATH,
    "test.test_queue.*SimpleQueueTest.test_many_threads*": "threads change a list and a deque without a lock (docs/effects.md)",
    "test.test_support.TestSupport.test_recursion": "wants as many frames as there are calls",
    "test.test_tarfile.TestExtractionFilters.test_*_filter": EQUAL_CONSTANTS,
    "test.test_tracemalloc.TestTracemallocEnabled.test_get_traced_memory": COUNTS,
    "test.test_tracemalloc.TestTracemallocEnabled.test_no_incomplete_frames": FRAMES,
    "*ctypes.*test_python_api.PythonAPITestCase.test_PyObj_FromPtr": COUNTS,
    "*ctypes.*test_callbacks.Callbacks.test_pyobject": COUNTS,
    "test.test_type_cache.TypeCacheTests.test_tp_version_tag_unique": "skips itself where classes have used up their versions",
    "test.test_warnings.*WarningsDisplayTests.test_tracemalloc": FRAMES,
}

# Tests that later versions bring, or have changed.
if sys.version_info >= (3, 12):
    EXEMPT |= {
        "test.test_int.PyLongModuleTests.test_pylong_str_to_int": "C code negates in place what it takes for a new int of Python code's",
        "test.test_capi.test_misc.CAPITest.test_sublclassing_managed_both": DEATH,
        "test.test_capi.test_exceptions.Test_Exceptions.test_exc_info": SET_EXCEPTION,
        "test.test_capi.test_exceptions.Test_Exceptions.test_exception": SET_EXCEPTION,
        "test.test_capi.test_watchers.TestDictWatchers.test_clone": WRITES,
        "test.test_capi.test_watchers.TestDictWatchers.test_error": WRITES,
        "test.test_capi.test_watchers.TestDictWatchers.test_object_dict": WRITES,
        "test.test_capi.test_watchers.TestDictWatchers.test_*watch_unassigned_watcher_id": "takes for free the watcher that we have",
        "test.test_call.TestPEP590.test_setvectorcall*": "lets a function be called in another way by a function of C for tests",
        "test.test_frame.FrameAttrsTest.test_locals_clear_locals": FRAMES,
        "test.test_traceback.*SuggestionFormattingTests.test_*": FRAMES,
        "test.test_audit.AuditTest.test_sys_getframemodulename": FRAMES,
        "test.test_filecmp.DirCompareTestCase.test_dircmp_no_shallow_different_file": EQUAL_CONSTANTS,
        "test.test_opcache.TestRacesDoNotCrash.test_*": CODE,
        "test.test_opcache.TestCallCache.test_assign_init_code": CODE,
        "test.test_asyncio.test_futures2.CFutureTests.test_task_exc_handler_correct_context": DEATH,
        "test.test_sqlite3.test_dbapi.ConnectionTests.test_connection_resource_warning": DEATH,
        "test.test_perf_profiler.TestPerfTrampoline.test_*": "CPython has no trampolines for perf beside a frame hook",
        "test.test_type_cache.TypeCacheWithSpecializationTests.test_*": CODE,
    }
if sys.version_info[:2] == (3, 12):
    EXEMPT |= {
        "test.test_threading.ThreadJoinOnShutdown.test_3_join_in_forked_from_thread": "forks too late where the process is slow",
        "test.test_sys.SysModuleTest.test_subinterp_intern_dynamically_allocated": EQUAL_CONSTANTS,
    }
if sys.version_info >= (3, 14):
    EXEMPT |= {
        "test.test_functools.TestSingleDispatch.test_method_no_reference_loops": DEATH,
        "test.test_operator.*.test_methodcaller_cyclic_gc": DEATH,
        "test.test_capi.test_eval.Tests.test_eval_getlocals": FRAMES,
        "test.test_class.TestInlineValues.test_detach_materialized_dict_no_memory": MEMORY,
        "test.test_io.*.test_error_through_destructor": DEATH,
        "test.test_itertools.TestBasicOps.test_*_result_gc": COLLECTOR,
        "test.test_int.PyLongModuleTests.test_pylong_int_divmod_crash": "C code calls a function of _pylong that a trace has yet to write",
        "test.test_call.TestRecursion.test_super_deep": "wants recursion of C code to end where the thread's own stack does",
        "test.test_traceback.TestColorizedTraceback.test_colorized_traceback_from_exception_group": FRAMES,
        "test.test_code.CodeTest.test_stateless": CODE,
        "test.test_dis.*.test_loop_with_conditional_at_end_is_quickened": CODE,
        "test.test_opcache.TestSpecializer.test_*": CODE,
        "test.test_opcache.TestCallCache.test_dont_specialize_custom_vectorcall": CODE,
        "test.test_opcache.TestCallCache.test_push_init_frame_fails": CODE,
        "test.test_bytes.ByteArrayTest.test_resize_error": MEMORY,
        "test.test_interpreters.test_stress.StressTests.test_create_interpreter_no_memory": MEMORY,
        "test.test_interpreters.test_api.TestInterpreterCall.test_stateless_func_returns_arg": SUBINTERPRETER,
        "test.datetimetester.ExtensionModuleTests_Fast.test_concurrent_initialization_subinterpreter": SUBINTERPRETER,
        "test.datetimetester.ExtensionModuleTests_Fast.test_static_datetime_types_outlive_collected_module": PROCESSES,
        "test.test_threading.ThreadTests.test_finalize_daemon_thread_hang": PROCESSES,
        "test.test_str.StrTest.test_replace_oom": MEMORY,
        "test.test_sys.TestSysJIT.test_jit_is_active": CODE,
    }

# Module -> tests left out of both runs: they fail by design, and then wait without end or leave the process changed for those that follow.
LEFT_OUT = {
    # Threads add to a list without a lock (docs/effects.md), and wait for its length, or take items of one.
    "test_importlib": ["test_parallel_*", "test_deadlock", "test_no_deadlock"],
    "test_thread": ["test__count"],  # waits for the death of an object that a trace still holds
    # A finalizer waits for a thread that never ends. It must run at the end of the process, and captures make the collector run earlier.
    "test_threading": ["test_join_daemon_thread_in_finalization"],
    "test_sys": ["test_current_exceptions", "test_current_frames"],  # look at frames, and leave their threads waiting if they fail
    # Memory ends within the test's own harness, too.
    "test_memoryio": ["test_memory_error"],
    "test_pyexpat": ["test_error_path_no_crash"],
    "test_capi": [
        "test_uninitialized_list_repr",  # passes to Python code a list that C code has not filled, as none may
        "*.TestDictWatchers.test_clear_unassigned_watcher_id",  # clears the one that the versions of dicts come from
    ],
    # Under any frame hook, one that captures nothing included, CPython tells of other events: calls of Python functions are calls of C
    # code too, and loops over generators, which it does not specialize then, do not tell of the end.
    "test_monitoring": [
        "*.ExceptionMonitoringTest.test_implicit_stop_iteration",
        "*.MonitoringCountTest.test_c_return_count",
        "*.MonitoringEventsTest.test_caught",
        "*.MonitoringEventsTest.test_just_call",
        "*.MonitoringEventsTest.test_just_pass",
        "*.MonitoringEventsTest.test_nested_call",
        "*.SimulateProfileTest.test_balanced",
        "*.SimulateProfileTest.test_frame_stack",
        "*.TestLoadSuperAttr.test_attr",
        "*.TestLoadSuperAttr.test_method_call",
        "*.TestLoadSuperAttr.test_method_call_error",
        "*.TestLoadSuperAttr.test_vs_other_type_call",
        "*.TestManyEvents.test_c_call",
        "*.TestManyEvents.test_simple",
        "*.TestManyEvents.test_try_except",
    ],
}

# The same as EXEMPT for runs with breaks.
EXEMPT_WITH_BREAKS = {
    "test.test_exceptions.ExceptionTests.testExceptionCleanupState": DEATH,
    "test.test_memoryio.CBytesIOTest.test_sizeof": COUNTS,
    "test.test_gc.GCTests.test_get_objects_arguments": COLLECTOR,
    "test.test_gc.GCTests.test_newinstance": COLLECTOR,
    "test.test_weakref.ReferencesTestCase.test_classes": DEATH,
    "test.test_ordered_dict.CPythonOrderedDictSubclassTests.test_reference_loop": DEATH,
    "test.test_ordered_dict.CPythonOrderedDictTests.test_reference_loop": DEATH,
    "test.test_ordered_dict.PurePythonOrderedDictSubclassTests.test_reference_loop": DEATH,
    "test.test_ordered_dict.PurePythonOrderedDictTests.test_reference_loop": DEATH,
    "test.test_audit.AuditTest.test_not_in_gc": COLLECTOR,
    "test.test_sys.SysModuleTest.test_getallocatedblocks": COUNTS,
    "test.test_sys.SysModuleTest.test_refcount": COUNTS,
    "test.test_imp.ImportTests.test_create_builtin_subinterp": SUBINTERPRETER,
    "test.test_capi.test_misc.CAPITest.test_subclass_of_heap_gc_ctype_with_del_modifying_*": COUNTS,
    "test.test_exceptions.ExceptionTests.test_recursion_normalizing_exception": FRAMES,
    "test.test_asyncio.test_futures.*.test_future_cancelled_*_refcycles": DEATH,
    "test.test_dict.DictTest.test_container_iterator": DEATH,
    "test.test_deque.TestBasic.test_container_iterator": DEATH,
    "test.test_dict.DictTest.test_oob_indexing_dictiter_iternextitem": "a finalizer that runs in the middle of an instruction",
    "test.test_dict.DictTest.test_splittable_popitem": "asks for the size of a dict's table",
    "test.test_exceptions.ExceptionTests.test_unraisable": DEATH,
    "test.test_dataclasses.TestCase.test_helper_astuple": "wants two equal tuples of constants to be two objects",
    "test.test_functools.TestLRUC.test_lru_cache_weakrefable": DEATH,
    "test.test_functools.TestLRUPy.test_lru_cache_weakrefable": DEATH,
    "test.test_copy.TestCopy.test_copy_weakkeydict": DEATH,
    "test.test_copy.TestCopy.test_copy_weakvaluedict": DEATH,
    "test.test_weakref.FinalizeTestCase.test_order": DEATH,
    "test.test_weakref.MappingTestCase.test_weak_keyed_len_cycles": DEATH,
    "test.test_weakref.MappingTestCase.test_weak_keyed_union_operators": DEATH,
    "test.test_weakref.ReferencesTestCase.test_callback_in_cycle_resurrection": DEATH,
    "test.test_coroutines.CoroutineTest.test_for_2": "counts references",
    "test.test_ordered_dict.CPythonBuiltinDictTests.test_highly_nested_subclass": DEATH,
    "test.test_tuple.TupleTest.test_free_after_iterating": DEATH,
    "test.test_frame.ClearTest.test_clear_executing": FRAMES,
    "test.test_frame.ClearTest.test_clear_locals": FRAMES,
    "test.test_frame.ClearTest.test_clear_refcycles": FRAMES,
    "test.test_frame.ReprTest.test_repr": FRAMES,
    "test.test_descr.ClassPropertiesAndMethods.test_mutable_bases_catch_mro_conflict": DEATH,
    "test.test_traceback.TestTracebackException.test_no_refs_to_exception_and_traceback_objects": COUNTS,
    "test.test_module.ModuleTests.test_module_finalization_at_shutdown": DEATH,
    "test.test_dis.*.test_loop_quicken": CODE,
    "test.test_dis.DisWithFileTests.test_dis_none": FRAMES,
    "test.test_dis.TestDisTraceback*.test_distb_empty": FRAMES,
    "*ctypes.*test_internals.ObjectsTestCase.test_ints": COUNTS,
    "*ctypes.*test_python_api.PythonAPITestCase.test_PyString_FromString": COUNTS,
    "*ctypes.*test_refcounts.RefcountTestCase.test_1": COUNTS,
    "*ctypes.*test_refcounts.RefcountTestCase.test_refcount": COUNTS,
    "*ctypes.*test_stringptr.StringPtrTestCase.test__POINTER_c_char": COUNTS,
    "test.test_gc.GCTests.test_gc_main_module_at_shutdown": COLLECTOR,
    "test.test_gc.GCTests.test_gc_ordinary_module_at_shutdown": COLLECTOR,
    "test.test_gc.GCTests.test_global_del_SystemExit": COLLECTOR,
    "test.test_io.*.test_create_at_shutdown_*": DEATH,
    "test.test_repl.TestInteractiveInterpreter.test_no_memory": "CPython aborts where a hook has no memory for an exception",
    "test.test_sys.SysModuleTest.test_issue20602": DEATH,
    "test.test_threading.ThreadTests.test_locals_at_exit": DEATH,
    "test.test_threading.ThreadTests.test_main_thread_during_shutdown": DEATH,
    "test.test_pickle.*.test_bytearray_memoization": EQUAL_CONSTANTS,
    "test.test_asyncio.test_base_events.BaseEventLoopTests.test_asyncgen_finalization_by_gc_in_other_thread": DEATH,
    "test.test_asyncio.test_sslproto.SelectorStartTLSTests.test_handshake_timeout": DEATH,
    "test.test_exceptions.NameErrorTests.test_name_error_bad_suggestions_do_not_trigger_for_small_names": FRAMES,
    "test.test_exceptions.NameErrorTests.test_name_error_suggestions": FRAMES,
    "test.test_exceptions.PEP626Tests.test_lineno_after_other_except": FRAMES,
    "test.test_exceptions.PEP626Tests.test_lineno_in_try": FRAMES,
    "test.test_weakref.MappingTestCase.test_weak_valued_len_cycles": DEATH,
    "test.test_raise.TestContext.test_3611": DEATH,
    "test.test_os.TimerfdTests.test_timerfd_*": "measures time",
    "test.test_compile.TestSpecifics.test_lineno_after_implicit_return": FRAMES,
    "test.test_bdb.*": RESUMED,
    "test.test_dis.*.test_distb_*": FRAMES,
    "test.test_asyncio.test_tasks.*.test_proper_refcounts": COUNTS,
    "test.test_marshal.InstancingTestCase.testBytes": EQUAL_CONSTANTS,
    "test.test_tempfile.TestTemporaryDirectory.test_warnings_on_cleanup": DEATH,
    "test.test_dis.BytecodeTests.test_from_traceback_dis": FRAMES,
    "test.test_asyncio.test_futures2.PyFutureTests.test_task_exc_handler_correct_context": DEATH,
    "test.test_asyncio.test_sslproto.*.test_*_no_cycles": DEATH,
    "test.test_super.TestSuper.test_obscure_super_errors": "calls super() without parameters, of which a resume function has some",
    "test.test_sys_settrace.*.test_20_async_for_loop": RESUMED,
    "test.test_capi.test_misc.CAPITest.test_c_subclass_of_heap_ctype_with_tpdealloc_decrefs_once": COUNTS,
    "test.test_tracemalloc.TestTracemallocEnabled.test_new_reference": "wants a new list in the memory of the last one",
}

# Where captured modules run: forks of a process that has imported, once, torch and what torch's fake kernels need.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "torch._meta_registrations", "torch._decomp", "sympy"])


TIMED_OUT = -1
LEAST_SECONDS = 600  # that a module has beside torch: short ones start processes, each of which imports torch


@dataclasses.dataclass
class Outcome:
    """The results of a module's tests."""

    results: dict[str, str]  # test id -> passed, failed, error, skipped; of a doctest module the module alone
    seconds: float
    exit_status: int
    output: str


def run_module(module: str, mode: str, breaks: int = 0, seed: int = 0, timeout: float = 1200) -> Outcome:
    """Runs a module of CPython's suite in a process of its own. Captured, the time does not have the import of torch in it.

    Args:
        mode: plain, global, stress, or beside_torch: uncaptured, in a process (and processes that it starts) where torch has been
            imported, and with torch's own frame hook, which runs every frame as CPython does.
        breaks, seed: as config.stress_breaks and config.stress_seed.
        timeout: seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, output = pathlib.Path(folder, "report.xml"), pathlib.Path(folder, "output.txt")
        left_out = [argument for test in LEFT_OUT.get(module, []) for argument in ("--ignore", test)]
        arguments = ["--junit-xml", str(report), "--timeout", "0", *left_out, module]
        began = time.perf_counter()
        if mode == "plain":
            status = run_plainly(arguments, output, timeout)
        else:
            environment = {"MINIDYNAMO": "1", "MINIDYNAMO_BACKEND": "eager"}
            if mode == "beside_torch":
                environment |= {"MINIDYNAMO_STRESS": "1", "TORCHDYNAMO_DISABLE": "1"}
            if mode == "stress":
                environment |= {"MINIDYNAMO_STRESS": "1"}
                environment |= {"MINIDYNAMO_STRESS_BREAKS": str(breaks), "MINIDYNAMO_STRESS_SEED": str(seed)}
            status = run_captured(arguments, output, timeout, environment)
        seconds = time.perf_counter() - began
        results = read_report(report) if report.exists() else {}
        text = output.read_text(errors="replace")
    return Outcome(results, seconds, status, text + ("\n(timed out)" if status == TIMED_OUT else ""))


def run_plainly(arguments: list[str], output: pathlib.Path, timeout: float) -> int:
    """Runs `python -m test` as users do; its exit status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO")}
    with output.open("wb") as file:
        try:
            return subprocess.run(
                [sys.executable, "-m", "test", *arguments],
                cwd=output.parent,
                env=environment | {"PYTHONHASHSEED": "0"},
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            return TIMED_OUT


def run_captured(arguments: list[str], output: pathlib.Path, timeout: float, environment: dict[str, str]) -> int:
    """Runs the same in a fork of a process that has torch; its exit status."""
    os.environ["PYTHONHASHSEED"] = "0"  # for the process that is forked
    process = SERVER.Process(target=run_suite, args=(arguments, output, environment))
    process.start()
    process.join(timeout)
    is_over = process.exitcode is not None
    process.kill()
    with contextlib.suppress(ProcessLookupError):  # processes that it left: without memory, a handler may go on for ever
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return process.exitcode if is_over else TIMED_OUT


def run_suite(arguments: list[str], output: pathlib.Path, environment: dict[str, str]) -> None:
    """`python -m test`, in this process, captured as the environment says."""
    os.setpgrp()  # as a shell's job
    os.chdir(output.parent)
    file = os.open(output, os.O_WRONLY | os.O_CREAT)
    for descriptor, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, file), (2, file)):
        os.dup2(opened, descriptor)
    # As a process that multiprocessing has not started.
    sys.stdin = sys.__stdin__ = os.fdopen(0, closefd=False)
    sys.stdin.buffer.raw.name = "<stdin>"  # type: ignore[attr-defined]
    multiprocessing.current_process().name = "MainProcess"
    tracker = multiprocessing.resource_tracker._resource_tracker
    tracker._fd = tracker._pid = None
    os.environ.update(environment)
    importlib.import_module("_minidynamo_startup").install()
    importlib.import_module("minidynamo._C")  # which would run the program uncaptured if this failed
    if environment.get("TORCHDYNAMO_DISABLE"):
        sys.modules["torch"]._C._dynamo.eval_frame.set_eval_frame(False)  # its hook, which looks for compiled code and finds none
    # The suite makes the paths of all modules absolute, which those of torch that are no plain modules do not bear.
    for name, module in list(sys.modules.items()):
        if name.startswith("torch") and type(module) is not type(sys):
            del sys.modules[name]
    sys.argv = ["test", *arguments]
    sys.path[0] = ""
    runpy.run_module("test", run_name="__main__", alter_sys=True)


def read_report(report: pathlib.Path) -> dict[str, str]:
    """Test id -> outcome, from regrtest's JUnit file."""
    results = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = re.sub(r" at 0x[0-9a-f]+", "", case.get("name", ""))  # in a subtest's arguments
        if not name:  # a subtest's, which its test's outcome says too
            continue
        outcome = "passed"
        if case.find("failure") is not None:
            outcome = "failed"
        elif case.find("error") is not None:
            outcome = "error"
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            outcome = "skipped"
        results[name] = outcome
    return results


def changed_tests(before: Outcome, after: Outcome) -> set[str]:
    """The tests whose outcome differs."""
    return {test for test in before.results.keys() | after.results.keys() if before.results.get(test) != after.results.get(test)}


@dataclasses.dataclass
class Comparison:
    """A module without and with capture."""

    module: str
    plain: Outcome
    captured: Outcome
    changed: set[str]  # tests, exempt or not, whose outcome is neither as in `plain` nor as beside torch

    def differences(self, exemptions: dict[str, str]) -> list[str]:
        """The changes by the capture that are not exempt, in words."""
        if self.plain.results and not self.captured.results:
            return [f"all {len(self.plain.results)} tests: the run has no results, exit status {self.captured.exit_status}"]
        found = [
            f"{test}: {self.plain.results.get(test, 'absent')} -> {self.captured.results.get(test, 'absent')}"
            for test in sorted(self.changed)
            if not any(fnmatch.fnmatchcase(test, pattern) for pattern in exemptions)
        ]
        if not changed_tests(self.plain, self.captured) and (self.plain.exit_status == 0) != (self.captured.exit_status == 0):
            found.append(f"exit status {self.plain.exit_status} -> {self.captured.exit_status}")
        return found

    def needless(self, exemptions: dict[str, str]) -> list[str]:
        """The exemptions that name tests of this module, none of which the capture changed."""
        tests = self.plain.results.keys() | self.captured.results.keys()
        named = {pattern: set(fnmatch.filter(tests, pattern)) for pattern in exemptions}
        return [pattern for pattern, of_pattern in named.items() if of_pattern and not of_pattern & self.changed]


def compare(module: str, mode: str = "stress", breaks: int = 0, seed: int = 0, timeout: float = 1200, slowdown: float = 10) -> Comparison:
    """Runs a module plainly, captured and, where that differs, beside torch.

    Args:
        mode, breaks, seed: as `run_module` takes them, of the captured run.
        timeout: seconds for the plain run.
        slowdown: the other runs may take this many times as long as the plain one, or LEAST_SECONDS.
    """
    plain = run_module(module, "plain", timeout=timeout)
    allowed = max(plain.seconds * slowdown, LEAST_SECONDS)
    captured = run_module(module, mode, breaks, seed, allowed)
    changed = changed_tests(plain, captured)
    if changed and captured.results:
        changed &= changed_tests(run_module(module, "beside_torch", timeout=allowed), captured)
    return Comparison(module, plain, captured, changed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="of CPython's suite; all of MODULES if none is given")
    parser.add_argument("--mode", choices=["stress", "global"], default="stress")
    parser.add_argument("--breaks", type=int, default=0, metavar="N", help="a graph break before every N-th instruction")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for each module without capture")
    parser.add_argument("--slowdown", type=float, default=10, help="captured, a module may take this many times as long")
    parser.add_argument("--needless", action="store_true", help="name the exemptions that a module did not need")
    parser.add_argument("--output", type=pathlib.Path, help="a folder for what the captured runs print")
    options = parser.parse_args()
    modules = options.modules or MODULES

    exemptions = EXEMPT | EXEMPT_WITH_BREAKS if options.breaks else EXEMPT

    def compare_as_asked(module: str) -> Comparison:
        return compare(module, options.mode, options.breaks, options.seed, options.timeout, options.slowdown)

    tests = wrong = 0
    plain_seconds = captured_seconds = 0.0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for compared in pool.map(compare_as_asked, modules):
            plain, captured, found = compared.plain, compared.captured, compared.differences(exemptions)
            tests += max(len(plain.results), 1)
            wrong += len(found)
            plain_seconds += plain.seconds
            captured_seconds += captured.seconds
            print(
                f"{compared.module:24} {len(plain.results):5} tests  {plain.seconds:7.1f} s  {captured.seconds:7.1f} s  "
                f"{'same' if not found else f'{len(found)} differ'}",
                flush=True,
            )
            for line in found:
                print("   ", line, flush=True)
            for pattern in compared.needless(exemptions) if options.needless else ():
                print("    the same, though exempt:", pattern, flush=True)
            if options.output:
                options.output.mkdir(parents=True, exist_ok=True)
                (options.output / f"{compared.module}.txt").write_text(captured.output)
    print(
        f"{len(modules)} modules, {tests} tests, {wrong} differ; {plain_seconds:.1f} s plain, {captured_seconds:.1f} s "
        f"captured, {captured_seconds / max(plain_seconds, 1e-9):.1f}x"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
