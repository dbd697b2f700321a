# raw_string(FILE VARIABLE): the text of FILE as a C++ string literal. By the standard one may hold
# 64 KiB at most: pieces of 8000 stay far below.
function(raw_string file variable)
  file(READ "${file}" text)
  set(pieces "")
  string(LENGTH "${text}" length)
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND pieces "R\"TEXT(${piece})TEXT\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(${variable} "${pieces}" PARENT_SCOPE)
endfunction()
